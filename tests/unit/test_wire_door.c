/* Which connection a message belongs to, where descriptors are used again. */
#include "tests/unit/test.h"

#include "lib/wire_zmq_door.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#define ANN 1u
#define RDR 2u

static struct wire_zmq_door *door;
static int listener, peer = -1;

/* One more accepted connection of this loopback, at the descriptor `fd`, or any (−1). */
static int accepted_at(int fd)
{
    struct sockaddr_in address;
    socklen_t size = sizeof(address);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    if (peer >= 0)
        close(peer);
    peer = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(peer, (struct sockaddr *)&address, sizeof(address)), 0);
    int got = accept(listener, NULL, NULL);
    assert_true(got >= 0);
    if (fd >= 0 && got != fd) {
        assert_int_equal(dup2(got, fd), fd);
        close(got);
    }
    got = fd >= 0 ? fd : got;
    wire_zmq_door_event(door, ZMQ_EVENT_ACCEPTED, got, 0);
    return got;
}

static bool is_up(void)
{
    char byte;
    return recv(peer, &byte, 1, MSG_DONTWAIT) < 0; /* 0: ended */
}

static int door_setup(void **state)
{
    const struct wire_zmq_limits limits = {
        .most = 100, .idle_ns = UINT64_MAX, .pressed_ns = UINT64_MAX, .per_second = 2};
    (void)state;
    door = wire_zmq_door_open(&limits);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    return !door || listen(listener, 8) < 0;
}

static int door_teardown(void **state)
{
    (void)state;
    wire_zmq_door_close(door);
    close(listener);
    close(peer);
    peer = -1;
    return 0;
}

/* A reader that has too many connections already left a message behind, and ann came to its
 * descriptor. */
static struct wire_zmq_origin left_behind(int *ret_fd)
{
    int kept = accepted_at(-1);
    const struct wire_zmq_origin first = {kept, wire_zmq_door_handshake(door)};
    assert_true(wire_zmq_door_heard(door, first, 7, RDR, 1, 0));
    *ret_fd = accepted_at(-1);
    const struct wire_zmq_origin old = {*ret_fd, wire_zmq_door_handshake(door)};
    wire_zmq_door_event(door, ZMQ_EVENT_DISCONNECTED, *ret_fd, 0);
    accepted_at(*ret_fd);
    return old;
}

static void what_was_left_behind_is_not_who_came_to_its_descriptor(void **state)
{
    int fd;
    const struct wire_zmq_origin old = left_behind(&fd);
    (void)state;
    assert_false(wire_zmq_door_is_new(door, old));
    assert_true(wire_zmq_door_heard(door, old, 8, RDR, 1, 0));
    wire_zmq_door_break(door, old);
    for (int i = 0; i < 9; i++)
        assert_int_equal(wire_zmq_door_judge(door, old, 0), DOOR_TAKE);
    assert_true(is_up());
    assert_int_equal(wire_zmq_door_counters(door)->crowded, 0);

    const struct wire_zmq_origin ann = {fd, wire_zmq_door_handshake(door)};
    assert_true(wire_zmq_door_is_new(door, ann));
    assert_true(wire_zmq_door_heard(door, ann, 9, ANN, 1, 0));
    assert_false(wire_zmq_door_is_new(door, ann));
    assert_true(is_up());
    close(fd);
}

static void what_is_its_own_counts(void **state)
{
    int fd;
    left_behind(&fd);
    const struct wire_zmq_origin own = {fd, wire_zmq_door_handshake(door)};
    (void)state;
    assert_int_equal(wire_zmq_door_judge(door, own, 0), DOOR_TAKE);
    assert_false(wire_zmq_door_heard(door, own, 9, RDR, 1, 0));
    assert_false(is_up());
    assert_int_equal(wire_zmq_door_counters(door)->crowded, 1);
    close(fd);
}

static void without_keys_a_message_is_who_holds_the_descriptor(void **state)
{
    const struct wire_zmq_origin anybody = {accepted_at(-1), 0};
    (void)state;
    assert_true(wire_zmq_door_is_new(door, anybody));
    assert_true(wire_zmq_door_heard(door, anybody, 9, 0, 0, 0));
    wire_zmq_door_break(door, anybody);
    assert_false(is_up());
    close(anybody.fd);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, door_setup, door_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_was_left_behind_is_not_who_came_to_its_descriptor),
        CASE(what_is_its_own_counts),
        CASE(without_keys_a_message_is_who_holds_the_descriptor),
    };
    return cmocka_run_group_tests_name("wire_door", tests, NULL, NULL);
}
