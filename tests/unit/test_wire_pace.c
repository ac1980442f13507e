/* How fast connections may begin from one address, and what the listener's filter holds back. */
#include "tests/unit/test.h"

#include "lib/wire_zmq_filter.h"
#include "lib/wire_zmq_pace.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000)

static struct in6_addr address_of(const char *text)
{
    struct in6_addr address;
    assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
    return address;
}

static int taken(struct pace *pace, const struct in6_addr *address, uint64_t now_usec)
{
    int n = 0;
    while (pace_take(pace, address, now_usec))
        n++;
    assert_false(pace_has_room(pace, address, now_usec));
    return n;
}

static void an_address_begins_so_many(void **state)
{
    (void)state;
    struct pace *pace = calloc(1, sizeof(*pace));
    const struct in6_addr one = address_of("::ffff:10.0.0.1"), other = address_of("fd00::1");
    assert_non_null(pace);
    assert_int_equal(taken(pace, &one, 5 * SECOND), PACE_BURST);
    assert_int_equal(taken(pace, &other, 5 * SECOND), PACE_BURST);
    assert_int_equal(taken(pace, &one, 5 * SECOND + SECOND / 10), PACE_PER_SECOND / 10);
    assert_int_equal(taken(pace, &one, 5 * SECOND + SECOND / 10), 0);
    assert_int_equal(taken(pace, &one, 500 * SECOND), PACE_BURST);
    free(pace);
}

/* More addresses than are remembered: none has more than its bucket by its own doing. */
static void addresses_are_bounded(void **state)
{
    (void)state;
    struct pace *pace = calloc(1, sizeof(*pace));
    assert_non_null(pace);
    for (uint32_t i = 0; i < 10 * PACE_PLACES; i++) {
        struct in6_addr address = address_of("::ffff:0.0.0.0");
        memcpy(&address.s6_addr[12], &(uint32_t){htonl(i)}, 4);
        assert_int_equal(taken(pace, &address, SECOND), PACE_BURST);
    }
    free(pace);
}

static struct sockaddr_storage named(int family, const char *text, in_port_t port,
                                     socklen_t *ret_size)
{
    struct sockaddr_storage address = {.ss_family = (sa_family_t)family};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
    void *at = family == AF_INET ? (void *)&v4->sin_addr : &v6->sin6_addr;
    assert_int_equal(inet_pton(family, text, at), 1);
    *(family == AF_INET ? &v4->sin_port : &v6->sin6_port) = port;
    *ret_size = family == AF_INET ? sizeof(*v4) : sizeof(*v6);
    return address;
}

static int bound(int family, const char *text)
{
    socklen_t size;
    struct sockaddr_storage address = named(family, text, 0, &size);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    return fd;
}

/* A connection from `source` to the listener's port at `text`, over which one byte was said. */
static int speaker(int family, const char *source, const char *text, int listener)
{
    struct sockaddr_in6 there;
    socklen_t size = sizeof(there);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&there, &size), 0);
    struct sockaddr_storage address = named(family, text, there.sin6_port, &size);
    int fd = bound(family, source);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(write(fd, "x", 1), 1);
    return fd;
}

/* From where the next one comes that is let in; false: nobody in a quarter of a second. */
static bool let_in(int listener, struct sockaddr_in6 *ret_peer)
{
    socklen_t size = sizeof(*ret_peer);
    struct pollfd waits = {.fd = listener, .events = POLLIN};
    memset(ret_peer, 0, sizeof(*ret_peer));
    if (poll(&waits, 1, 250) != 1)
        return false;
    int fd = accept(listener, (struct sockaddr *)ret_peer, &size);
    assert_true(fd >= 0);
    close(fd);
    return true;
}

static void family_holds_back(int family, const char *any, const char *local, const char *held,
                              const char *free_one, const char *mapped)
{
    const struct in6_addr hasty[] = {address_of("fd00::99"), address_of("::ffff:203.0.113.9"),
                                     address_of(mapped)};
    struct sockaddr_in6 peer;
    int listener = bound(family, any);
    assert_int_equal(listen(listener, 16), 0);
    assert_int_equal(filter_drop_silent(listener, hasty, 3), 0);
    int first = speaker(family, held, local, listener),
        second = speaker(family, free_one, local, listener);
    assert_true(let_in(listener, &peer));
    const void *from = family == AF_INET ? (const void *)&((struct sockaddr_in *)&peer)->sin_addr
                                         : &peer.sin6_addr;
    char text[INET6_ADDRSTRLEN];
    assert_string_equal(inet_ntop(family, from, text, sizeof(text)), free_one);
    assert_false(let_in(listener, &peer));
    assert_int_equal(filter_drop_silent(listener, hasty, 2), 0);
    for (int tries = 0; !let_in(listener, &peer); tries++)
        assert_true(tries < 40);
    close(first);
    close(second);
    close(listener);
}

static void who_is_hasty_waits_in_the_kernel(void **state)
{
    (void)state;
    family_holds_back(AF_INET, "0.0.0.0", "127.0.0.1", "127.0.0.2", "127.0.0.3",
                      "::ffff:127.0.0.2");
    family_holds_back(AF_INET6, "::", "::ffff:127.0.0.1", "::ffff:127.0.0.2", "::ffff:127.0.0.3",
                      "::ffff:127.0.0.2");
}

/* As many as there may be at once: the program is still one that the kernel takes. */
static void the_longest_filter_is_taken(void **state)
{
    (void)state;
    struct in6_addr hasty[FILTER_ADDRESSES];
    for (size_t i = 0; i < FILTER_ADDRESSES; i++) {
        hasty[i] = address_of("2001:db8:1:2:3:4:5:6");
        hasty[i].s6_addr[15] = (uint8_t)i;
    }
    int listener = bound(AF_INET6, "::1");
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(filter_drop_silent(listener, hasty, FILTER_ADDRESSES), 0);
    assert_int_equal(filter_drop_all(listener), 0);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_begins_so_many),
        cmocka_unit_test(addresses_are_bounded),
        cmocka_unit_test(who_is_hasty_waits_in_the_kernel),
        cmocka_unit_test(the_longest_filter_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
