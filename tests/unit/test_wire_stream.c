/* The wire over a stream: whole and partial messages both ways, and what ends a connection. */
#include "tests/unit/test.h"

#include "lib/wire_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Our end is a stream in a loop, the other a plain socket. */
static struct {
    sd_event *loop;
    struct wire_stream *stream;
    int peer;
    uint64_t messages, last;
    bool held_by_first; /* the first message holds the stream */
    int ends;
    char why[512];
} fixture;

static duopoly_Envelope envelope;

static void on_message(void *user, duopoly_Envelope *message)
{
    (void)user;
    assert_int_equal(message->which_body, duopoly_Envelope_framework_end_tag);
    fixture.last = message->body.framework_end.job;
    if (++fixture.messages == 1 && fixture.held_by_first)
        wire_stream_hold(fixture.stream, true);
}

static void on_end(void *user, const char *why)
{
    (void)user;
    fixture.ends++;
    snprintf(fixture.why, sizeof(fixture.why), "%s", why);
    wire_stream_close(fixture.stream);
    fixture.stream = NULL;
}

static int stream_open(void **state)
{
    int fds[2];
    struct err err;
    const struct wire_stream_handler handler = {on_message, on_end, NULL};
    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    assert_true(sd_event_new(&fixture.loop) >= 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    fixture.peer = fds[1];
    assert_int_equal(wire_stream_open(fixture.loop, fds[0], &handler, &fixture.stream, &err), 0);
    wire_stream_hold(fixture.stream, false);
    return 0;
}

static int stream_close(void **state)
{
    (void)state;
    wire_stream_close(fixture.stream);
    sd_event_unref(fixture.loop);
    if (fixture.peer >= 0)
        close(fixture.peer);
    return 0;
}

/* All that is there to be done. */
static void run(void)
{
    while (sd_event_run(fixture.loop, 0) > 0)
        ;
}

static size_t frame(uint8_t *bytes, uint32_t job)
{
    size_t length;
    wire_begin(&envelope, duopoly_Envelope_framework_end_tag)->body.framework_end.job = job;
    assert_int_equal(wire_encode(&envelope, bytes + 4, WIRE_MAX_BYTES, &length, NULL), 0);
    const uint32_t prefix = htonl((uint32_t)length);
    memcpy(bytes, &prefix, 4);
    return 4 + length;
}

static void peer_says(const void *bytes, size_t length)
{
    assert_int_equal(send(fixture.peer, bytes, length, MSG_NOSIGNAL), length);
    run();
}

static void messages_come_in_parts_and_together(void **state)
{
    uint8_t bytes[4096];
    size_t length = 0;
    (void)state;
    for (uint32_t job = 1; job <= 20; job++)
        length += frame(bytes + length, job);
    for (size_t at = 0; at < length; at++)
        peer_says(bytes + at, 1);
    assert_int_equal(fixture.messages, 20);
    peer_says(bytes, length - 3);
    assert_int_equal(fixture.messages, 39);
    assert_int_equal(fixture.last, 19);
    peer_says(bytes + length - 3, 3);
    assert_int_equal(fixture.messages, 40);
    assert_int_equal(fixture.ends, 0);
}

static void held_ones_wait(void **state)
{
    uint8_t bytes[64];
    (void)state;
    fixture.held_by_first = true;
    size_t length = frame(bytes, 1);
    length += frame(bytes + length, 2);
    peer_says(bytes, length);
    peer_says(bytes, length);
    assert_int_equal(fixture.messages, 1);
    wire_stream_hold(fixture.stream, false);
    assert_int_equal(fixture.messages, 2);
    run();
    assert_int_equal(fixture.messages, 4);
}

static void an_end_while_held_is_told(void **state)
{
    (void)state;
    wire_stream_hold(fixture.stream, true);
    close(fixture.peer);
    fixture.peer = -1;
    run();
    assert_int_equal(fixture.ends, 1);
    assert_string_equal(fixture.why, "");
}

static void ends_within_a_message_are_told(void **state)
{
    uint8_t bytes[64];
    (void)state;
    peer_says(bytes, frame(bytes, 1) - 1);
    assert_int_equal(fixture.ends, 0);
    close(fixture.peer);
    fixture.peer = -1;
    run();
    assert_int_equal(fixture.ends, 1);
    assert_non_null(strstr(fixture.why, "middle of a message"));
    assert_int_equal(fixture.messages, 0);
}

static void wrong_lengths_end_it(const void *bytes, size_t length, const char *why)
{
    uint8_t good[64];
    stream_close(NULL);
    stream_open(NULL);
    peer_says(good, frame(good, 1));
    peer_says(bytes, length);
    assert_int_equal(fixture.messages, 1);
    assert_int_equal(fixture.ends, 1);
    assert_non_null(strstr(fixture.why, why));
    assert_int_equal(recv(fixture.peer, good, sizeof(good), 0), 0);
}

static void absurd_messages_end_it(void **state)
{
    (void)state;
    wrong_lengths_end_it("\0\1\0\1", 4, "65537 bytes");
    wrong_lengths_end_it("\xff\xff\xff\xff", 4, "4294967295 bytes");
    wrong_lengths_end_it("\0\0\0\0", 4, " 0 bytes");
    wrong_lengths_end_it("\0\0\0\3\xff\xff\xff", 7, "malformed message of 3 bytes");
}

static size_t peer_takes(uint8_t *bytes, size_t size)
{
    ssize_t n = recv(fixture.peer, bytes, size, MSG_DONTWAIT);
    return n > 0 ? (size_t)n : 0;
}

/* More than the kernel has room for, at the speed of the peer, and in order. */
static void what_waits_goes_out_as_the_peer_reads(void **state)
{
    static uint8_t wanted[64], bytes[1 << 20];
    size_t had = 0, at = 0;
    uint32_t sent = 0, seen = 0;
    (void)state;
    for (; sent < 40000; sent++) {
        wire_begin(&envelope, duopoly_Envelope_framework_end_tag)->body.framework_end.job = sent;
        assert_int_equal(wire_stream_send(fixture.stream, &envelope), 0);
    }
    while (seen < sent) {
        size_t n = peer_takes(bytes + had, sizeof(bytes) - had < 1000 ? sizeof(bytes) - had : 1000);
        had += n;
        run();
        while (seen < sent) {
            const size_t length = frame(wanted, seen);
            if (had - at < length)
                break;
            assert_memory_equal(bytes + at, wanted, length);
            at += length;
            seen++;
        }
        assert_true(n > 0 || seen == sent);
    }
    assert_int_equal(had, at);
}

static void who_never_reads_is_cut(void **state)
{
    int r = 0;
    uint64_t sent = 0;
    (void)state;
    wire_begin(&envelope, duopoly_Envelope_framework_end_tag);
    for (; r == 0 && sent < 10 * WIRE_STREAM_QUEUE; sent++)
        r = wire_stream_send(fixture.stream, &envelope);
    assert_int_equal(r, -ENOBUFS);
    assert_int_equal(wire_stream_send(fixture.stream, &envelope), -EPIPE);
    assert_int_equal(fixture.ends, 0);
    run();
    assert_int_equal(fixture.ends, 1);
    assert_non_null(strstr(fixture.why, "does not take in"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, stream_open, stream_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(messages_come_in_parts_and_together),
        CASE(held_ones_wait),
        CASE(an_end_while_held_is_told),
        CASE(ends_within_a_message_are_told),
        CASE(absurd_messages_end_it),
        CASE(what_waits_goes_out_as_the_peer_reads),
        CASE(who_never_reads_is_cut),
    };
    return cmocka_run_group_tests_name("wire_stream", tests, NULL, NULL);
}
