/* ROUTER and DEALER: order, bounds of queues, silent and too many connections. */
#include "tests/unit/test.h"

#include "lib/wire_zmq.h"
#include "lib/wire_zmq_pace.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

/* One end under test, and what it has seen. */
struct end {
    struct wire_zmq *endpoint;
    uint64_t peer;
    int messages, malformed, ups, downs;
    uint64_t last;
    bool in_order;
    char cut[2][64]; /* the address that was ended last, by why */
};

static sd_event *loop;
static struct end router, dealer;
static duopoly_Envelope envelope;

static void on_message(void *user, uint64_t peer, const char *identity,
                       const duopoly_Envelope *message)
{
    struct end *end = user;
    assert_null(identity);
    end->messages++;
    end->peer = peer;
    end->in_order &= message->sequence > end->last;
    end->last = message->sequence;
}

static void on_malformed(void *user, uint64_t peer, const struct err *err)
{
    (void)peer, (void)err;
    ((struct end *)user)->malformed++;
}

static void on_up(void *user)
{
    ((struct end *)user)->ups++;
}

static void on_down(void *user)
{
    ((struct end *)user)->downs++;
}

static void on_cut(void *user, enum wire_zmq_fault why, const char *address)
{
    struct end *end = user;
    snprintf(end->cut[why], sizeof(end->cut[why]), "%s", address);
}

/* Runs the loop until *count reaches `wanted`; fails after ten seconds. */
static void wait_for(const int *count, int wanted)
{
    uint64_t now, deadline;
    sd_event_now(loop, CLOCK_MONOTONIC, &now);
    deadline = now + 10000000;
    while (*count < wanted) {
        assert_true(sd_event_run(loop, 100000) >= 0);
        sd_event_now(loop, CLOCK_MONOTONIC, &now);
        if (now > deadline)
            fail_msg("%d of %d came in time", *count, wanted);
    }
}

static void end_init(struct end *end)
{
    *end = (struct end){.in_order = true};
}

static int router_open(const char *address, const struct wire_zmq_limits *limits)
{
    struct wire_zmq_handler handler = {
        .on_message = on_message, .on_malformed = on_malformed, .on_cut = on_cut, .user = &router};
    end_init(&router);
    return wire_zmq_listen(loop, address, limits, NULL, &handler, &router.endpoint, NULL);
}

static void dealer_open(const char *address)
{
    struct wire_zmq_handler handler = {.on_message = on_message,
                                       .on_malformed = on_malformed,
                                       .on_up = on_up,
                                       .on_down = on_down,
                                       .user = &dealer};
    end_init(&dealer);
    assert_int_equal(wire_zmq_connect(loop, address, NULL, &handler, &dealer.endpoint, NULL), 0);
}

static int message_send(struct end *end, enum wire_class class, uint64_t sequence)
{
    wire_begin(&envelope, duopoly_Envelope_agent_heartbeat_tag)->sequence = sequence;
    return wire_zmq_send(end->endpoint, end->peer, class, &envelope);
}

static int both_open(void **state)
{
    (void)state;
    assert_true(sd_event_new(&loop) >= 0);
    assert_int_equal(router_open("tcp://127.0.0.1:*", NULL), 0);
    dealer_open(wire_zmq_address(router.endpoint));
    return 0;
}

static int both_close(void **state)
{
    (void)state;
    wire_zmq_close(dealer.endpoint);
    wire_zmq_close(router.endpoint);
    sd_event_unref(loop);
    return 0;
}

static void messages_go_both_ways(void **state)
{
    (void)state;
    wait_for(&dealer.ups, 1);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 1), 0);
    wait_for(&router.messages, 1);
    for (uint64_t i = 1; i <= 500; i++)
        assert_int_equal(message_send(&router, WIRE_RESULT, i), 0);
    wait_for(&dealer.messages, 500);
    assert_true(dealer.in_order);
    uint64_t known = router.peer;
    router.peer++;
    assert_int_equal(message_send(&router, WIRE_RESULT, 1), -EHOSTUNREACH);
    router.peer = known;
    assert_int_equal(message_send(&router, WIRE_RESULT, 1), 0);
    assert_int_equal(wire_zmq_counters(router.endpoint)->unreachable, 1);
}

/* The edge-triggered descriptor must not lose a wake-up: thousands of messages, sent while others
 * arrive. */
static void no_wakeup_is_lost(void **state)
{
    (void)state;
    wait_for(&dealer.ups, 1);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 1), 0);
    wait_for(&router.messages, 1);
    for (int round = 2; round < 2000; round++) {
        assert_int_equal(message_send(&dealer, WIRE_RESULT, (uint64_t)round), 0);
        assert_int_equal(message_send(&router, WIRE_RESULT, (uint64_t)round), 0);
        if (round % 7 == 0) {
            wait_for(&router.messages, round);
            wait_for(&dealer.messages, round - 1);
        }
    }
    wait_for(&router.messages, 1999);
    wait_for(&dealer.messages, 1998);
    assert_true(router.in_order && dealer.in_order);
}

/* Nobody reads at the other end until all is sent: results all arrive in order, of the reports the
 * newest. */
static void reports_are_dropped_oldest_first_results_never(void **state)
{
    (void)state;
    const int results = 6000, reports = 20000;
    wait_for(&dealer.ups, 1);
    uint64_t sequence = 0;
    for (int i = 0; i < results; i++)
        assert_int_equal(message_send(&dealer, WIRE_RESULT, ++sequence), 0);
    for (int i = 0; i < reports; i++)
        assert_int_equal(message_send(&dealer, WIRE_REPORT, ++sequence), 0);
    uint64_t dropped = wire_zmq_counters(dealer.endpoint)->dropped_reports;
    assert_true(dropped > 0 && dropped <= (uint64_t)reports - DEALER_REPORTS);
    wait_for(&router.messages, results + reports - (int)dropped);
    assert_true(router.in_order);
    assert_int_equal(router.last, sequence);
    assert_int_equal(wire_zmq_counters(dealer.endpoint)->dropped_reports, dropped);
}

static void queues_answer_when_they_are_full(void **state)
{
    (void)state;
    wait_for(&dealer.ups, 1);
    int r = 0, sent = 0;
    for (; sent < 100000 && r == 0; sent++)
        r = message_send(&dealer, WIRE_RESULT, 1);
    assert_int_equal(r, -ENOBUFS);
    assert_true(sent > DEALER_RESULTS);
}

static void a_broken_connection_is_told_and_stands_again(void **state)
{
    (void)state;
    char address[64];
    wait_for(&dealer.ups, 1);
    snprintf(address, sizeof(address), "%s", wire_zmq_address(router.endpoint));
    wire_zmq_close(router.endpoint);
    router.endpoint = NULL;
    wait_for(&dealer.downs, 1);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 1), -ENOTCONN);
    assert_int_equal(router_open(address, NULL), 0);
    wait_for(&dealer.ups, 2);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 1), 0);
    wait_for(&router.messages, 1);

    uint64_t before = router.peer;
    wire_zmq_reconnect(dealer.endpoint);
    wait_for(&dealer.ups, 3);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 2), 0);
    wait_for(&router.messages, 2);
    assert_true(router.peer != before);
}

/* A peer that sends garbage, several frames, or names itself is counted and harms nobody. */
static void strangers_are_survived(void **state)
{
    (void)state;
    void *context = zmq_ctx_new(), *plain = zmq_socket(context, ZMQ_DEALER),
         *named = zmq_socket(context, ZMQ_DEALER);
    assert_int_equal(zmq_setsockopt(named, ZMQ_ROUTING_ID, "h1", 2), 0);
    assert_int_equal(zmq_connect(plain, wire_zmq_address(router.endpoint)), 0);
    assert_int_equal(zmq_connect(named, wire_zmq_address(router.endpoint)), 0);
    assert_true(zmq_send(plain, "\xff\xff\xff", 3, 0) == 3);
    wait_for(&router.malformed, 1);
    assert_true(zmq_send(named, "", 0, 0) == 0);
    assert_true(zmq_send(plain, "a", 1, ZMQ_SNDMORE) == 1 && zmq_send(plain, "b", 1, 0) == 1);
    assert_true(zmq_send(plain, "\xff", 1, 0) == 1);
    wait_for(&router.malformed, 2);
    wait_for(&dealer.ups, 1);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 1), 0);
    wait_for(&router.messages, 1);
    for (int i = 0; i < 1000 && wire_zmq_counters(router.endpoint)->malformed < 4; i++)
        assert_true(sd_event_run(loop, 10000) >= 0);
    assert_int_equal(wire_zmq_counters(router.endpoint)->malformed, 4);
    zmq_close(plain);
    zmq_close(named);
    zmq_ctx_term(context);
}

enum { ROOM = 8, A_SECOND = 2000 };

static int limited_open(const char *address, uint32_t most, uint64_t idle_ns)
{
    const struct wire_zmq_limits limits = {.most = most,
                                           .idle_ns = idle_ns,
                                           .pressed_ns = UINT64_C(300000000),
                                           .per_second = A_SECOND};
    dealer = (struct end){0};
    assert_true(sd_event_new(&loop) >= 0);
    assert_int_equal(router_open(address, &limits), 0);
    return 0;
}

static int patient_open(void **state)
{
    (void)state;
    return limited_open("tcp://127.0.0.1:*", ROOM, UINT64_C(60000000000));
}

/* What comes by IPv4 comes to a socket of IPv6. */
static int both_families_open(void **state)
{
    (void)state;
    return limited_open("tcp://[::]:*", ROOM, UINT64_C(60000000000));
}

static int roomy_open(void **state)
{
    (void)state;
    return limited_open("tcp://127.0.0.1:*", 100 * ROOM, UINT64_C(60000000000));
}

static int wider_open(void **state)
{
    (void)state;
    return limited_open("tcp://127.0.0.1:*", 4 * ROOM, UINT64_C(60000000000));
}

static int impatient_open(void **state)
{
    (void)state;
    return limited_open("tcp://127.0.0.1:*", ROOM, UINT64_C(1000000000));
}

/* A TCP connection that says nothing; it need not stand yet. From 127.0.0.`from`. */
static int silent_open_from(uint32_t from)
{
    const struct sockaddr_in own = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + from)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *port = strrchr(wire_zmq_address(router.endpoint), ':') + 1;
    address.sin_port = htons((uint16_t)atoi(port));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&own, sizeof(own)), 0);
    assert_true(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
                errno == EINPROGRESS);
    return fd;
}

static void wait_until_ready(int fd, short events)
{
    struct pollfd ready = {.fd = fd, .events = events};
    assert_int_equal(poll(&ready, 1, 10000), 1);
}

static int silent_open(void)
{
    return silent_open_from(1);
}

/* One that begins a greeting, and never ends it. */
static int begun_open_from(uint32_t from)
{
    int fd = silent_open_from(from);
    wait_until_ready(fd, POLLOUT);
    assert_int_equal(send(fd, "\xff", 1, 0), 1);
    return fd;
}

static int begun_open(void)
{
    return begun_open_from(1);
}

static const struct wire_zmq_door_counters *connections(void)
{
    return wire_zmq_connections(router.endpoint);
}

/* Runs the loop until a counter has reached `wanted`. */
static void wait_for_count(const uint64_t *count, uint64_t wanted)
{
    uint64_t now, deadline;
    sd_event_now(loop, CLOCK_MONOTONIC, &deadline);
    deadline += 20000000;
    do {
        assert_true(sd_event_run(loop, 100000) >= 0);
        sd_event_now(loop, CLOCK_MONOTONIC, &now);
    } while (*count < wanted && now < deadline);
    assert_true(*count >= wanted);
}

/* The talkative one's messages go on while silent ones come, are too many, and are ended; then new
 * ones get in. */
static void silent_peers_cannot_keep_others_out(void **state)
{
    (void)state;
    int silent[4 * ROOM];
    dealer_open(wire_zmq_address(router.endpoint));
    wait_for(&dealer.ups, 1);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 1), 0);
    wait_for(&router.messages, 1);
    for (int i = 0; i < 4 * ROOM; i++)
        silent[i] = begun_open_from(2 + (uint32_t)i);
    wait_for_count(&connections()->pauses, 1);
    wait_for_count(&connections()->idle, ROOM - 1);
    struct wire_zmq *first = dealer.endpoint;
    dealer_open(wire_zmq_address(router.endpoint));
    wait_for(&dealer.ups, 1);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 2), 0);
    wait_for(&router.messages, 2);
    assert_int_equal(dealer.downs, 0);
    wire_zmq_close(first);
    for (int i = 0; i < 4 * ROOM; i++)
        close(silent[i]);
}

/* Whoever it is has seven eighths of what others leave; then no pause keeps others out. */
static void one_address_alone_keeps_nobody_out(void **state)
{
    (void)state;
    int silent[4 * ROOM];
    dealer_open(wire_zmq_address(router.endpoint));
    wait_for(&dealer.ups, 1);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 1), 0);
    wait_for(&router.messages, 1);
    for (int i = 0; i < 4 * ROOM; i++)
        silent[i] = begun_open_from(2);
    wait_for_count(&connections()->refused, 4);
    assert_int_equal(connections()->pauses, 0);
    struct wire_zmq *first = dealer.endpoint;
    dealer_open(wire_zmq_address(router.endpoint));
    wait_for(&dealer.ups, 1);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 2), 0);
    wait_for(&router.messages, 2);
    assert_int_equal(connections()->idle, 0);
    wire_zmq_close(first);
    for (int i = 0; i < 4 * ROOM; i++)
        close(silent[i]);
}

/* They stand as far as they know, and come and go without a turn of ours; one that speaks at last
 * is let in. */
static void who_says_nothing_is_not_even_let_in(void **state)
{
    (void)state;
    int silent[4 * ROOM];
    for (int i = 0; i < 4 * ROOM; i++) {
        silent[i] = silent_open();
        wait_until_ready(silent[i], POLLOUT);
    }
    for (int i = ROOM; i < 4 * ROOM; i++)
        close(silent[i]);
    dealer_open(wire_zmq_address(router.endpoint));
    wait_for(&dealer.ups, 1);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 1), 0);
    wait_for(&router.messages, 1);
    assert_int_equal(connections()->connections, 1);
    assert_int_equal(connections()->pauses, 0);
    assert_int_equal(send(silent[0], "\xff", 1, 0), 1);
    wait_for_count(&connections()->connections, 2);
    for (int i = 0; i < ROOM; i++)
        close(silent[i]);
}

/* A connection has no filter that drops what says nothing: the end of the other side is seen at
 * once, without a byte of its own. */
static void who_is_let_in_may_leave(void **state)
{
    (void)state;
    int fd = begun_open();
    wait_for_count(&connections()->connections, 1);
    close(fd);
    for (int i = 0; i < 100 && connections()->connections; i++)
        assert_true(sd_event_run(loop, 100000) >= 0);
    assert_int_equal(connections()->connections, 0);
}

/* Two hundred come at once: a message of who was there before waits for few of them. */
static void a_crowd_at_the_door_keeps_no_message_waiting(void **state)
{
    (void)state;
    enum { CROWD = 200 };
    int crowd[CROWD];
    char byte;
    dealer_open(wire_zmq_address(router.endpoint));
    wait_for(&dealer.ups, 1);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 1), 0);
    wait_for(&router.messages, 1);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 2), 0);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = begun_open_from(2 + (uint32_t)i); /* from one they would be hasty */
        wait_until_ready(crowd[i], POLLIN);
        assert_int_equal(recv(crowd[i], &byte, 1, 0), 1);
    }
    wait_for(&router.messages, 2);
    assert_true(connections()->connections < CROWD / 2);
    wait_for_count(&connections()->connections, CROWD + 1);
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
}

/* Who begins more connections than an address may is ended, and named. */
static void an_address_that_is_hasty_is_named(void **state)
{
    (void)state;
    enum { CROWD = PACE_BURST + 8 };
    int crowd[CROWD];
    for (int i = 0; i < CROWD; i++)
        crowd[i] = begun_open_from(7);
    wait_for_count(&connections()->hasty, 1);
    while (!*router.cut[WIRE_ZMQ_HASTY])
        assert_true(sd_event_run(loop, 100000) >= 0);
    assert_string_equal(router.cut[WIRE_ZMQ_HASTY], "127.0.0.7");
    assert_string_equal(router.cut[WIRE_ZMQ_ENDLESS], "");
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
}

static void peers_that_fell_silent_are_ended(void **state)
{
    (void)state;
    dealer_open(wire_zmq_address(router.endpoint));
    wait_for(&dealer.ups, 1);
    assert_int_equal(message_send(&dealer, WIRE_RESULT, 1), 0);
    wait_for(&dealer.downs, 1);
    assert_int_equal(connections()->idle, 1);
    assert_int_equal(connections()->pauses, 0);
    wait_for(&dealer.ups, 2);
}

/* A connection that has done ZeroMQ's handshake (RFC 23, NULL), by hand. */
static int greeted_open(void)
{
    static const uint8_t greeting[64] = {0xff, [9] = 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    static const char ready[] = "\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06"
                                "DEALER";
    int fd = silent_open();
    wait_until_ready(fd, POLLOUT);
    assert_int_equal(send(fd, greeting, sizeof(greeting), 0), sizeof(greeting));
    assert_int_equal(send(fd, ready, sizeof(ready) - 1, 0), sizeof(ready) - 1);
    /* What follows before its answer has come may be taken for a part of the handshake. */
    for (size_t came = 0; came <= sizeof(greeting) + sizeof(ready);) {
        char answer[256];
        assert_true(sd_event_run(loop, 1000) >= 0);
        ssize_t n = recv(fd, answer, sizeof(answer), 0);
        assert_true(n > 0 || errno == EAGAIN);
        came += n > 0 ? (size_t)n : 0;
    }
    return fd;
}

/* Parts, each with the word that more follow: ZeroMQ keeps them all, and hands over none. */
static void a_message_without_end_is_cut_off(void **state)
{
    (void)state;
    enum { PART = 200 };
    uint8_t parts[300 * (2 + PART)] = {0};
    size_t sent = 0;
    int fd = greeted_open();
    for (size_t at = 0; at < sizeof(parts); at += 2 + PART) {
        parts[at] = 1;
        parts[at + 1] = PART;
    }
    while (!connections()->endless && sent < (size_t)1 << 30) {
        ssize_t n = send(fd, parts + sent % sizeof(parts), sizeof(parts) - sent % sizeof(parts),
                         MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        assert_true(sd_event_run(loop, 0) >= 0);
    }
    assert_int_equal(connections()->endless, 1);
    assert_string_equal(router.cut[WIRE_ZMQ_ENDLESS], "127.0.0.1");
    wait_until_ready(fd, POLLRDHUP);
    close(fd);
}

/* Whole ones may be as many bytes as they like. */
static void many_bytes_in_messages_that_end_are_none_without_end(void **state)
{
    (void)state;
    enum { MANY = 100 };
    static uint8_t nonsense[WIRE_MAX_BYTES];
    void *context = zmq_ctx_new(), *plain = zmq_socket(context, ZMQ_DEALER);
    memset(nonsense, 0xff, sizeof(nonsense));
    assert_int_equal(zmq_connect(plain, wire_zmq_address(router.endpoint)), 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(zmq_send(plain, nonsense, sizeof(nonsense), 0), sizeof(nonsense));
    wait_for(&router.malformed, MANY);
    assert_int_equal(connections()->endless, 0);
    assert_int_equal(connections()->connections, 1);
    zmq_close(plain);
    zmq_ctx_term(context);
}

static void parts_of_a_message_count_as_messages(void **state)
{
    (void)state;
    void *context = zmq_ctx_new(), *plain = zmq_socket(context, ZMQ_DEALER);
    const int none = 0;
    assert_int_equal(zmq_setsockopt(plain, ZMQ_LINGER, &none, sizeof(none)), 0);
    assert_int_equal(zmq_connect(plain, wire_zmq_address(router.endpoint)), 0);
    for (int i = 0; i <= A_SECOND; i++)
        assert_int_equal(zmq_send(plain, "", 0, ZMQ_SNDMORE), 0);
    assert_int_equal(zmq_send(plain, "", 0, 0), 0);
    wait_for_count(&connections()->floods, 1);
    zmq_close(plain);
    zmq_ctx_term(context);
}

static void addresses_are_checked(void **state)
{
    (void)state;
    struct err err;
    struct wire_zmq *none;
    struct wire_zmq_handler handler = {.on_message = on_message,
                                       .on_malformed = on_malformed,
                                       .on_up = on_up,
                                       .on_down = on_down,
                                       .user = &dealer};
    assert_true(wire_zmq_listen(loop, "nonsense", NULL, NULL, &handler, &none, &err) < 0);
    assert_non_null(strstr(err.text, "nonsense"));
    assert_int_equal(
        wire_zmq_listen(loop, wire_zmq_address(router.endpoint), NULL, NULL, &handler, &none, &err),
        -EADDRINUSE);
    assert_true(wire_zmq_connect(loop, "tcp://nowhere", NULL, &handler, &none, &err) < 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, both_open, both_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(messages_go_both_ways),
        CASE(no_wakeup_is_lost),
        CASE(reports_are_dropped_oldest_first_results_never),
        CASE(queues_answer_when_they_are_full),
        CASE(a_broken_connection_is_told_and_stands_again),
        CASE(strangers_are_survived),
        cmocka_unit_test_setup_teardown(silent_peers_cannot_keep_others_out, patient_open,
                                        both_close),
        cmocka_unit_test_setup_teardown(one_address_alone_keeps_nobody_out, wider_open, both_close),
        cmocka_unit_test_setup_teardown(a_crowd_at_the_door_keeps_no_message_waiting, roomy_open,
                                        both_close),
        cmocka_unit_test_setup_teardown(an_address_that_is_hasty_is_named, roomy_open, both_close),
        cmocka_unit_test_setup_teardown(who_says_nothing_is_not_even_let_in, patient_open,
                                        both_close),
        cmocka_unit_test_setup_teardown(who_says_nothing_is_not_even_let_in, both_families_open,
                                        both_close),
        cmocka_unit_test_setup_teardown(who_is_let_in_may_leave, patient_open, both_close),
        cmocka_unit_test_setup_teardown(peers_that_fell_silent_are_ended, impatient_open,
                                        both_close),
        cmocka_unit_test_setup_teardown(a_message_without_end_is_cut_off, roomy_open, both_close),
        cmocka_unit_test_setup_teardown(many_bytes_in_messages_that_end_are_none_without_end,
                                        roomy_open, both_close),
        cmocka_unit_test_setup_teardown(parts_of_a_message_count_as_messages, roomy_open,
                                        both_close),
        CASE(addresses_are_checked),
    };
    return cmocka_run_group_tests_name("wire_zmq", tests, NULL, NULL);
}
