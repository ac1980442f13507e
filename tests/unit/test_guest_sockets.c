/* Bytes of sockets that come and go: hostagent/guests/guest_sockets.c, beside a model that
 * remembers what each was seen with last. */
#include "tests/unit/test.h"

#include "hostagent/guests/guest_sockets.h"

#include <stdbool.h>
#include <string.h>

#define INODES 12

static struct guest_socket_bytes *some(uint32_t n, const struct guest_socket_bytes *all)
{
    struct guest_socket_bytes *copy = calloc(n ? n : 1, sizeof(*copy));
    assert_non_null(copy);
    memcpy(copy, all, n * sizeof(*copy));
    return copy;
}

static void test_what_is_closed_stays_counted(void **state)
{
    (void)state;
    struct guest_sockets sockets = {0};
    const struct guest_socket_bytes first[] = {{3, 100}, {7, 50}}, second[] = {{7, 60}, {9, 1}},
                                    again[] = {{7, 5}, {9, 1}};
    assert_int_equal(guest_sockets_take(&sockets, some(2, first), 2), 150);
    assert_int_equal(guest_sockets_take(&sockets, some(2, second), 2), 161);
    assert_int_equal(guest_sockets_take(&sockets, some(2, again), 2), 166); /* another one is 7 */
    assert_int_equal(guest_sockets_take(&sockets, NULL, 0), 166);
    guest_sockets_done(&sockets);
}

static void test_random_sockets(void **state)
{
    (void)state;
    struct guest_sockets sockets = {0};
    uint64_t stream = test_seed(), total = 0, bytes[INODES] = {0};
    bool open[INODES] = {0};
    for (int step = 0; step < 5000; step++) {
        struct guest_socket_bytes now[INODES];
        uint32_t n = 0;
        for (uint32_t i = 0; i < INODES; i++) {
            if (test_random(&stream) % 4 == 0) {
                open[i] = !open[i];
                bytes[i] = 0;
            }
            uint64_t more = open[i] ? test_random(&stream) % 100 : 0;
            bytes[i] += more;
            total += more;
            if (open[i])
                now[n++] = (struct guest_socket_bytes){i, bytes[i]};
        }
        assert_int_equal(guest_sockets_take(&sockets, some(n, now), n), total);
    }
    guest_sockets_done(&sockets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_closed_stays_counted),
        cmocka_unit_test(test_random_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
