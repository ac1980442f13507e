#include "lib/wire_zmq_dial.h"

#include "lib/fnv1a.h"
#include "lib/join.h"
#include "lib/rarely.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBE_USEC 4000000u /* longer than the kernel asks for a neighbour's address: 3 s */

struct wire_zmq_dial {
    sd_event *loop;
    struct wire_zmq_dial_hooks hooks;
    char endpoint[REACH_ENDPOINT];
    struct reach_found found;
    uint32_t at; /* of `found`; n: it is to be asked for again */
    struct reach_question *question;
    unsigned failures; /* in a row */
    uint64_t began_usec;
    uint64_t why_usec; /* the next round that is looked into */
    bool looks;        /* this one is */
    int probe;         /* −1: none is under way */
    sd_event_source *probe_io, *probe_end, *again;
    struct rarely said;
    char met[400]; /* in this round */
};

static uint64_t now_usec(const struct wire_zmq_dial *dial)
{
    uint64_t usec = 0;
    sd_event_now(dial->loop, CLOCK_MONOTONIC, &usec);
    return usec;
}

static void probe_stop(struct wire_zmq_dial *dial)
{
    dial->probe_io = sd_event_source_disable_unref(dial->probe_io);
    dial->probe_end = sd_event_source_disable_unref(dial->probe_end);
    if (dial->probe >= 0)
        close(dial->probe);
    dial->probe = -1;
}

static void all_stop(struct wire_zmq_dial *dial)
{
    probe_stop(dial);
    reach_forget(dial->question);
    dial->question = NULL;
    sd_event_source_set_enabled(dial->again, SD_EVENT_OFF);
}

/* The next try. A time of its own for each program: they were all cut off at once. */
static void wait_begin(struct wire_zmq_dial *dial)
{
    unsigned doublings = dial->failures < 5 ? dial->failures : 5;
    uint64_t wait_usec = (uint64_t)DIAL_WAIT_USEC << doublings, now = now_usec(dial);
    const uint64_t seed[] = {now, (uint64_t)getpid(), (uint64_t)(uintptr_t)dial};
    if (wait_usec > DIAL_WAIT_MOST_USEC)
        wait_usec = DIAL_WAIT_MOST_USEC;
    dial->failures++;
    wait_usec += fnv1a(FNV1A_NOTHING, seed, sizeof(seed)) % wait_usec;
    sd_event_source_set_time_relative(dial->again, wait_usec);
    sd_event_source_set_enabled(dial->again, SD_EVENT_ONESHOT);
}

/* Ends a round: reports its outcome and begins the next. */
static void round_end(struct wire_zmq_dial *dial)
{
    struct err why;
    uint64_t now = now_usec(dial);
    if (dial->looks)
        dial->why_usec = now + DIAL_WHY_USEC;
    if (*dial->met && rarely_say(&dial->said, dial->met, now)) {
        err_set(&why, EHOSTUNREACH, "%s cannot be reached: %s", dial->endpoint, dial->met);
        dial->hooks.unreached(dial->hooks.user, &why);
    }
    *dial->met = '\0';
}

static void address_leave(struct wire_zmq_dial *dial)
{
    if (++dial->at >= dial->found.n)
        round_end(dial);
    wait_begin(dial);
}

/* Whole rounds are compared: where one is not looked into, nothing of it counts. */
static void met_add(struct wire_zmq_dial *dial, const char *words)
{
    if (dial->looks)
        join_word(dial->met, sizeof(dial->met), "; ", words);
}

/* −errno; 0: it would be taken now, so there is nothing to say. */
static void probe_learn(struct wire_zmq_dial *dial, int r)
{
    if (r < 0 && dial->looks)
        reach_say(&dial->found.addresses[dial->at], -r, dial->met, sizeof(dial->met));
    address_leave(dial);
}

static int on_probe(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    struct wire_zmq_dial *dial = user;
    (void)source, (void)revents;
    dial->probe = -1;
    probe_stop(dial);
    probe_learn(dial, reach_outcome(fd));
    return 0;
}

static int on_probe_end(sd_event_source *source, uint64_t usec, void *user)
{
    struct wire_zmq_dial *dial = user;
    (void)source, (void)usec;
    probe_stop(dial);
    probe_learn(dial, -ETIMEDOUT);
    return 0;
}

static void probe_begin(struct wire_zmq_dial *dial)
{
    dial->probe = reach_try(&dial->found.addresses[dial->at]);
    int r = dial->probe;
    if (r >= 0)
        r = sd_event_add_io(dial->loop, &dial->probe_io, dial->probe, EPOLLOUT, on_probe, dial);
    if (r >= 0)
        r = sd_event_add_time_relative(dial->loop, &dial->probe_end, CLOCK_MONOTONIC, PROBE_USEC, 0,
                                       on_probe_end, dial);
    if (r >= 0)
        return;
    probe_stop(dial);
    probe_learn(dial, r);
}

static void address_try(struct wire_zmq_dial *dial)
{
    char text[REACH_TEXT];
    const struct reach_address *address = &dial->found.addresses[dial->at];
    reach_print(address, text);
    dial->began_usec = now_usec(dial);
    int r = dial->hooks.connect(dial->hooks.user, text, reach_is_v6(address));
    if (r < 0)
        probe_learn(dial, r);
}

static void found_take(struct wire_zmq_dial *dial, const struct reach_found *found)
{
    dial->found = *found;
    dial->at = 0;
    address_try(dial);
}

static void found_nothing(struct wire_zmq_dial *dial, const struct err *err)
{
    dial->found.n = 0;
    met_add(dial, err->text);
    address_leave(dial);
}

static void on_answer(void *user, const struct reach_found *found, const struct err *err)
{
    struct wire_zmq_dial *dial = user;
    dial->question = NULL;
    if (found)
        found_take(dial, found);
    else
        found_nothing(dial, err);
}

void wire_zmq_dial_begin(struct wire_zmq_dial *dial)
{
    struct reach_found found;
    struct err err = {0};
    all_stop(dial);
    if (dial->at < dial->found.n) {
        address_try(dial);
        return;
    }
    dial->looks = now_usec(dial) >= dial->why_usec;
    if (reach_read(dial->endpoint, &found, &err) == 0)
        found_take(dial, &found);
    else if (reach_ask(dial->loop, dial->endpoint, on_answer, dial, &dial->question, &err) < 0)
        found_nothing(dial, &err);
}

static int on_again(sd_event_source *source, uint64_t usec, void *user)
{
    (void)source, (void)usec;
    wire_zmq_dial_begin(user);
    return 0;
}

void wire_zmq_dial_failed(struct wire_zmq_dial *dial, const char *why)
{
    char text[REACH_TEXT], words[sizeof(dial->met)];
    bool timed_out = now_usec(dial) - dial->began_usec >= (DIAL_CONNECT_MS - 100) * 1000ull;
    all_stop(dial);
    if (why) {
        reach_print(&dial->found.addresses[dial->at], text);
        snprintf(words, sizeof(words), "%s: %s", text, why);
        met_add(dial, words);
        address_leave(dial);
    } else if (timed_out) {
        probe_learn(dial, -ETIMEDOUT);
    } else if (dial->looks) {
        probe_begin(dial);
    } else {
        address_leave(dial);
    }
}

void wire_zmq_dial_again(struct wire_zmq_dial *dial)
{
    all_stop(dial);
    wait_begin(dial);
}

void wire_zmq_dial_stands(struct wire_zmq_dial *dial)
{
    all_stop(dial);
    rarely_right(&dial->said);
    *dial->met = '\0';
    dial->failures = 0;
    dial->why_usec = 0;
    dial->found.n = 0; /* the name is resolved again when this one breaks */
}

const struct reach_address *wire_zmq_dial_address(const struct wire_zmq_dial *dial)
{
    return &dial->found.addresses[dial->at < REACH_MAX ? dial->at : 0];
}

int wire_zmq_dial_open(sd_event *loop, const char *endpoint,
                       const struct wire_zmq_dial_hooks *hooks, struct wire_zmq_dial **ret_dial,
                       struct err *err)
{
    struct reach_found found;
    int r = reach_read(endpoint, &found, err);
    if (r < 0 && r != -EAGAIN)
        return r;
    struct wire_zmq_dial *dial = calloc(1, sizeof(*dial));
    if (!dial)
        return err_sys(err, ENOMEM, "%s", endpoint);
    dial->loop = sd_event_ref(loop);
    dial->hooks = *hooks;
    dial->probe = -1;
    snprintf(dial->endpoint, sizeof(dial->endpoint), "%s", endpoint);
    r = sd_event_add_time_relative(loop, &dial->again, CLOCK_MONOTONIC, 0, 1000, on_again, dial);
    if (r < 0) {
        wire_zmq_dial_close(dial);
        return err_sys(err, -r, "a timer");
    }
    sd_event_source_set_enabled(dial->again, SD_EVENT_OFF);
    *ret_dial = dial;
    return 0;
}

void wire_zmq_dial_close(struct wire_zmq_dial *dial)
{
    if (!dial)
        return;
    all_stop(dial);
    sd_event_source_disable_unref(dial->again);
    sd_event_unref(dial->loop);
    free(dial);
}
