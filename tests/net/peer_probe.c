/* An agent that does nothing but measure its empty round trip: a numbered heartbeat every so many
 * microseconds, which the controller acknowledges at once. One is under way at a time.
 *
 *   peer-probe ADDRESS NAME EVERY_US [echo]
 *
 * With `echo` there is no controller, but one that says back what it hears (bare_router.c).
 *
 * Says "ready" when its session stands. A line "0" or "1" on its standard input: the next round
 * trips are of that kind. Any other: one line of JSON tells of each kind how many there were since
 * the last, their median, 99th percentile and maximum in nanoseconds. Ends with its standard input,
 * and with a word and status 1 when its session does. */
#include "lib/now.h"
#include "lib/wire_zmq.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 1 << 20 };

static sd_event *loop;
static struct wire_zmq *endpoint;
static struct wire_session session;
static duopoly_Envelope out;
static const char *name;
static bool open_, echo;
static uint64_t every_us, sent_ns, awaited;
static struct kind {
    size_t n;
    uint64_t samples[SAMPLES];
} kinds[2], *kind = kinds;

static void fail(const char *why)
{
    fprintf(stderr, "peer-probe: %s\n", why);
    exit(1);
}

static void send_out(bool changes_state)
{
    if (wire_session_stamp(&session, &out, changes_state) < 0 ||
        wire_zmq_send(endpoint, 0, WIRE_RESULT, &out) < 0)
        fail("the controller takes nothing in");
}

static void begin(void)
{
    open_ = true;
    puts("ready");
    fflush(stdout);
}

static void on_up(void *user)
{
    (void)user;
    if (echo) {
        wire_session_init(&session, WIRE_VERSION_MIN, 0);
        begin();
        return;
    }
    duopoly_Hello *hello = &wire_begin(&out, duopoly_Envelope_hello_tag)->body.hello;
    hello->version_min = hello->version_max = WIRE_VERSION_MIN;
    wire_copy(hello->name, sizeof(hello->name), name);
    hello->boot = (uint64_t)getpid();
    hello->hello_sequence = now_ns(CLOCK_MONOTONIC);
    hello->address[0] = 0xfd;
    wire_copy((char *)hello->address + 1, sizeof(hello->address) - 1, name);
    hello->units_count = 1;
    hello->units[0].slots = 1;
    wire_session_init(&session, WIRE_VERSION_MIN, 0);
    send_out(false);
}

static void on_down(void *user)
{
    (void)user;
    fail("the connection broke");
}

static void on_welcome(const duopoly_Envelope *envelope)
{
    wire_session_init(&session, envelope->body.welcome.version, envelope->body.welcome.epoch);
    wire_begin(&out, duopoly_Envelope_inventory_end_tag);
    send_out(true);
    begin();
}

static void answer_note(void)
{
    if (!awaited || session.answered < awaited)
        return;
    if (kind->n < SAMPLES)
        kind->samples[kind->n++] = now_ns(CLOCK_MONOTONIC) - sent_ns;
    awaited = 0;
}

static void on_message(void *user, uint64_t peer, const char *identity,
                       const duopoly_Envelope *envelope)
{
    (void)user, (void)peer, (void)identity;
    if (echo)
        session.answered = envelope->sequence;
    else if (envelope->which_body == duopoly_Envelope_welcome_tag)
        on_welcome(envelope);
    else if (envelope->which_body == duopoly_Envelope_refused_tag)
        fail(envelope->body.refused.text);
    else if (wire_session_accept(&session, envelope) != WIRE_TAKE)
        fail("a message that does not fit the session");
    wire_session_effected(&session, envelope->sequence);
    answer_note();
}

static void on_malformed(void *user, uint64_t peer, const struct err *err)
{
    (void)user, (void)peer;
    fail(err->text);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *user)
{
    (void)usec, (void)user;
    if (open_ && !awaited) {
        wire_begin(&out, duopoly_Envelope_agent_heartbeat_tag);
        sent_ns = now_ns(CLOCK_MONOTONIC);
        send_out(true);
        awaited = session.sent;
    }
    return sd_event_source_set_time_relative(source, every_us);
}

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void kind_print(struct kind *one)
{
    size_t n = one->n;
    uint64_t *at = one->samples;
    qsort(at, n, sizeof(at[0]), by_size);
    printf("{\"n\": %zu, \"p50\": %" PRIu64 ", \"p99\": %" PRIu64 ", \"max\": %" PRIu64 "}", n,
           n ? at[n / 2] : 0, n ? at[n * 99 / 100] : 0, n ? at[n - 1] : 0);
    one->n = 0;
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *user)
{
    char line[64];
    (void)source, (void)events, (void)user;
    if (read(fd, line, sizeof(line)) <= 0)
        return sd_event_exit(loop, 0);
    if (*line == '0' || *line == '1') {
        kind = &kinds[*line - '0'];
        return 0;
    }
    putchar('[');
    kind_print(&kinds[0]);
    putchar(',');
    kind_print(&kinds[1]);
    puts("]");
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    const struct wire_zmq_handler handler = {
        .on_message = on_message, .on_malformed = on_malformed, .on_up = on_up, .on_down = on_down};
    sd_event_source *tick;
    struct err err;
    echo = argc == 5 && strcmp(argv[4], "echo") == 0;
    if (argc != 4 + echo || !(every_us = strtoull(argv[3], NULL, 10))) {
        fputs("peer-probe ADDRESS NAME EVERY_US [echo]\n", stderr);
        return 2;
    }
    name = argv[2];
    if (sd_event_new(&loop) < 0 ||
        sd_event_add_io(loop, NULL, STDIN_FILENO, EPOLLIN, on_input, NULL) < 0 ||
        sd_event_add_time_relative(loop, &tick, CLOCK_MONOTONIC, every_us, 1, on_tick, NULL) < 0 ||
        sd_event_source_set_enabled(tick, SD_EVENT_ON) < 0)
        fail("no loop");
    if (wire_zmq_connect(loop, argv[1], NULL, &handler, &endpoint, &err) < 0)
        fail(err.text);
    return sd_event_loop(loop);
}
