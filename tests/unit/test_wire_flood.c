/* Floods: what one connection may bring in a second, and who is shut out after one that brought
 * more. */
#include "tests/unit/test.h"

#include "lib/wire_zmq_flood.h"

#include <arpa/inet.h>
#include <string.h>

#define SECOND UINT64_C(1000000)

static struct sockaddr_in6 address_of(const char *text, uint16_t port)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
    if (inet_pton(AF_INET6, text, &address.sin6_addr) == 1)
        return address;
    memset(&address, 0, sizeof(address));
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    assert_int_equal(inet_pton(AF_INET, text, &v4->sin_addr), 1);
    return address;
}

static void a_second_has_room_for_so_many(void **state)
{
    (void)state;
    struct flood_count count = {0};
    for (uint64_t second = 5; second < 8; second++) {
        for (int i = 0; i < 100; i++)
            assert_true(flood_count_add(&count, 100, second * SECOND + (uint64_t)i));
        assert_false(flood_count_add(&count, 100, second * SECOND + SECOND - 1));
    }
}

static void an_address_is_shut_out_for_a_while(void **state)
{
    (void)state;
    static struct flood_places places;
    struct sockaddr_in6 v4 = address_of("10.0.0.1", 5), other_port = address_of("10.0.0.1", 6);
    struct sockaddr_in6 mapped = address_of("::ffff:10.0.0.1", 7),
                        other = address_of("10.0.0.2", 5);
    uint64_t now_usec = 7 * SECOND;
    assert_false(flood_places_is_shut(&places, &v4, now_usec));
    flood_places_shut(&places, &v4, now_usec);
    assert_true(flood_places_is_shut(&places, &other_port, now_usec));
    assert_true(flood_places_is_shut(&places, &mapped, now_usec));
    assert_false(flood_places_is_shut(&places, &other, now_usec));
    flood_places_shut(&places, &mapped, now_usec + SECOND);
    assert_true(flood_places_is_shut(&places, &v4, now_usec + FLOOD_SHUT_USEC));
    assert_false(flood_places_is_shut(&places, &v4, now_usec + SECOND + FLOOD_SHUT_USEC));
}

/* The table is full: the oldest gives way, the newest stay. */
static void many_addresses_push_out_the_oldest(void **state)
{
    (void)state;
    static struct flood_places places;
    char text[32];
    struct sockaddr_in6 address;
    for (int i = 0; i <= FLOOD_PLACES; i++) {
        snprintf(text, sizeof(text), "fd00::%x", i + 1);
        address = address_of(text, 1);
        flood_places_shut(&places, &address, SECOND + (uint64_t)i);
    }
    for (int i = 0; i <= FLOOD_PLACES; i++) {
        snprintf(text, sizeof(text), "fd00::%x", i + 1);
        address = address_of(text, 2);
        assert_int_equal(flood_places_is_shut(&places, &address, 2 * SECOND), i > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_has_room_for_so_many),
        cmocka_unit_test(an_address_is_shut_out_for_a_while),
        cmocka_unit_test(many_addresses_push_out_the_oldest),
    };
    return cmocka_run_group_tests_name("wire_flood", tests, NULL, NULL);
}
