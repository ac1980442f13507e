/* The agents' sessions alone, for the tests of controller/agents: facts and messages are written
 * down as lines, time is a number. */
#pragma once

#include "tests/unit/test.h"

#include "controller/agents/agents.h"
#include "controller/engine/base/record.h"
#include "lib/fnv1a.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define S          INT64_C(1000000000)
#define UNANSWERED 100000
#ifndef CLAIMS
#define CLAIMS 0 /* bytes of what all claim; 0: no bound */
#endif

static struct {
    struct timers timers;
    struct agents *agents;
    int64_t now_ns;
    char facts[1 << 16], sent[1 << 16];
    uint64_t deaf;            /* sending to this peer fails */
    uint64_t ended_meanwhile; /* the engine wants the end of this attempt */
    uint32_t raised;          /* the controller begins again above this epoch */
    uint64_t ticket;          /* of what is on its way to the disk */
    uint32_t moved;           /* rows of hosts that changed */
    uint32_t coflow_level, macroflow_level;
    char words[256];
    int64_t most_slots;        /* that an attempt was seen to take */
    uint64_t sequence[8];      /* of each peer */
    uint64_t sent_sequence[8]; /* the last to each peer */
    uint64_t newest_job, live_job;
    uint32_t needed;        /* this host is */
    uint64_t comes_from_it; /* this peer's connection does from whatever address */
    uint64_t lives;         /* the engine knows this attempt, which no agent was given */
    enum engine_reading reads, reads_output;
    uint64_t awaited;             /* the number of the question that waits for an answer */
    uint32_t holder;              /* of any output */
    uint32_t proof_since, proofs; /* of any host; so often one showed it first */
    duopoly_Envelope envelope;
    duopoly_Welcome welcome;
} world;

__attribute__((format(printf, 2, 3))) static inline void line_add(char *lines, const char *format,
                                                                  ...)
{
    size_t used = strlen(lines);
    va_list ap;
    va_start(ap, format);
    vsnprintf(lines + used, (1 << 16) - used, format, ap);
    va_end(ap);
}

static inline bool on_comes_from(void *user, uint64_t peer, const uint8_t address[16])
{
    (void)user, (void)address;
    return peer == world.comes_from_it;
}

static inline int on_send(void *user, uint64_t peer, const duopoly_Envelope *e)
{
    (void)user;
    if (peer == world.deaf)
        return -ENOBUFS;
    if (e->sequence)
        world.sent_sequence[peer] = e->sequence;
    line_add(world.sent, "%d:%s", (int)peer, wire_kind_name(e->which_body));
    if (e->which_body == duopoly_Envelope_refused_tag)
        line_add(world.sent, "(%d)", (int)e->body.refused.reason);
    if (e->which_body == duopoly_Envelope_refused_tag)
        strcpy(world.words, e->body.refused.text);
    if (e->which_body == duopoly_Envelope_acknowledge_tag)
        line_add(world.sent, "(%d)", (int)e->acknowledged);
    if (e->which_body == duopoly_Envelope_start_tag ||
        e->which_body == duopoly_Envelope_ask_attempt_tag)
        line_add(world.sent, "(%d)", (int)e->body.start.attempt);
    for (pb_size_t i = 0;
         e->which_body == duopoly_Envelope_levels_tag && i < e->body.levels.levels_count && i < 4;
         i++)
        line_add(world.sent, "%c%d:%d", i ? ',' : '(', (int)e->body.levels.levels[i].attempt,
                 (int)e->body.levels.levels[i].coflow_level);
    if (e->which_body == duopoly_Envelope_levels_tag)
        line_add(world.sent, e->body.levels.levels_count > 4 ? "...)" : ")");
    if (e->which_body == duopoly_Envelope_welcome_tag)
        world.welcome = e->body.welcome;
    line_add(world.sent, e->sequence ? "#%d " : " ", (int)e->sequence);
    return 0;
}

static inline void on_cut(void *user, uint64_t peer)
{
    (void)user;
    line_add(world.sent, "%d:cut ", (int)peer);
}

static inline void on_event(void *user, const struct event *event)
{
    static char record[4096];
    (void)user;
    assert_true(record_encode_event(event, record, sizeof(record)) > 0);
    char *kind_end = strchr(record, ' ');
    assert_non_null(kind_end);
    /* The kind and the first field say enough here. */
    bool of_attempt = event->kind >= EVENT_ATTEMPT_SEEN && event->kind <= EVENT_ATTEMPT_LOST;
    if (event->kind == EVENT_ATTEMPT_SEEN &&
        event->attempt_seen.resources.amount[RES_SLOTS] > world.most_slots)
        world.most_slots = event->attempt_seen.resources.amount[RES_SLOTS];
    bool of_source = event->kind == EVENT_SOURCE_STALLED || event->kind == EVENT_SOURCE_FLOWS;
    *kind_end = '\0';
    line_add(world.facts, "%s(%d) ", record,
             of_attempt  ? (int)event->attempt.attempt
             : of_source ? (int)event->source.host
                         : (int)event->host.host);
}

static inline void on_failed(void *user, uint64_t attempt, const char *words)
{
    (void)user, (void)attempt;
    snprintf(world.words, sizeof(world.words), "%s", words);
}

static inline bool on_levels(void *user, uint64_t attempt, uint32_t *ret_coflow,
                             uint32_t *ret_macroflow)
{
    (void)user, (void)attempt;
    *ret_coflow = world.coflow_level;
    *ret_macroflow = world.macroflow_level;
    return true;
}

static inline int64_t on_framework_user(void *user, const char *name)
{
    (void)user, (void)name;
    return -1;
}

static inline bool on_host_needed(void *user, uint32_t host)
{
    (void)user;
    return host == world.needed;
}

static inline void on_host_is(void *user, uint32_t from, uint32_t to)
{
    (void)user;
    line_add(world.facts, "is(%d,%d) ", (int)from, (int)to);
}

static inline void on_attempt_done(void *user, const duopoly_AttemptState *state)
{
    (void)user, (void)state;
}

static inline bool on_job_wanted(void *user, uint64_t job)
{
    (void)user;
    return job < 100;
}

static inline bool on_end_wanted(void *user, const duopoly_AttemptState *state)
{
    (void)user;
    return state->attempt == world.ended_meanwhile;
}

static inline void on_host_moved(void *user, uint32_t host)
{
    struct agent_kept kept;
    (void)user;
    world.moved++;
    /* While it is being added or told it is there; forgotten: an index with nobody's name, or
     * none. */
    if (agents_kept(world.agents, host, &kept) < 0 || !*kept.name)
        line_add(world.facts, "forgotten(%d) ", (int)host);
}

static inline uint64_t on_newest_job(void *user)
{
    (void)user;
    return world.newest_job;
}

static inline bool on_epoch_seen(void *user, const char *name, uint32_t epoch)
{
    (void)user, (void)name;
    return epoch == world.raised;
}

static inline bool on_jobs_between(void *user, uint64_t after, uint64_t until)
{
    (void)user;
    return world.live_job > after && world.live_job <= until;
}

static inline bool on_lives(void *user, uint64_t attempt)
{
    (void)user;
    return attempt == world.lives;
}

static inline enum engine_reading on_reads_from(void *user, uint64_t attempt, uint32_t host)
{
    (void)user, (void)attempt, (void)host;
    return world.reads;
}

static inline enum engine_reading on_reads_output(void *user, uint32_t host,
                                                  const duopoly_OutputLost *lost)
{
    (void)user, (void)host, (void)lost;
    return world.reads_output;
}

static inline uint32_t on_holder(void *user, const duopoly_OutputLost *lost)
{
    (void)user, (void)lost;
    return world.holder;
}

static inline uint64_t on_proof(void *user, const char *name, uint64_t attempt, uint64_t job,
                                uint32_t stage, uint32_t task)
{
    (void)user;
    return 1000 * attempt + 100 * job + 10 * stage + task + (uint64_t)name[1];
}

static inline uint32_t on_proof_since(void *user, const char *name)
{
    (void)user, (void)name;
    return world.proof_since;
}

static inline void on_proof_shown(void *user, const char *name)
{
    (void)user, (void)name;
    world.proofs++;
    world.proof_since = 3;
}

static void on_switch_part(void *user, const char *name, int64_t now_ns,
                           const duopoly_SwitchPart *part)
{
    (void)user, (void)name, (void)now_ns, (void)part;
}

static inline bool on_asked(void *user, const char *name, const duopoly_AskedPart *part)
{
    (void)user;
    line_add(world.facts, "asked(%s,%d) ", name, (int)part->number);
    return part->number == world.awaited;
}

/* After a restart; the hosts in `kept` were known. */
static inline void world_begin(const struct agent_kept *kept, size_t n)
{
    const struct agents_config config = {.epoch = 3,
                                         .hosts_max = 3,
                                         .heartbeat_ns = S,
                                         .silent_ns = 3 * S,
                                         .host_lost_ns = 30 * S,
                                         .lease_ns = 10 * S,
                                         .resync_wait_ns = 5 * S,
                                         .start_timeout_ns = 5 * S,
                                         .unit_slots_max = 4096,
                                         .claims_bytes = CLAIMS,
                                         .unanswered_bytes = UNANSWERED,
                                         .forget_ns = 600 * S,
                                         .congested_permille = 900,
                                         .cleared_permille = 800,
                                         .where = {on_comes_from, NULL}};
    const struct agents_hooks hooks = {on_send,
                                       on_cut,
                                       on_event,
                                       on_failed,
                                       on_levels,
                                       on_job_wanted,
                                       on_host_moved,
                                       on_newest_job,
                                       on_epoch_seen,
                                       on_jobs_between,
                                       on_switch_part,
                                       {on_lives, on_end_wanted, on_reads_from, on_reads_output,
                                        on_holder, on_proof, on_proof_since, on_proof_shown, NULL},
                                       on_framework_user,
                                       on_host_needed,
                                       on_host_is,
                                       on_attempt_done,
                                       on_asked,
                                       NULL};
    memset(&world, 0, sizeof(world));
    world.needed = ENGINE_NONE;
    world.reads = world.reads_output = READING_NOW;
    world.holder = ENGINE_NONE;
    timers_init(&world.timers);
    assert_int_equal(agents_create(&config, &hooks, &world.timers, &world.agents), 0);
    assert_int_equal(agents_restore(world.agents, 0, kept, n), 0);
}

static inline int setup(void **state)
{
    (void)state;
    world_begin(NULL, 0);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    agents_destroy(world.agents);
    assert_int_equal(timers_next_ns(&world.timers), INT64_MAX);
    return 0;
}

static inline void expect(const char *what, char *lines, const char *wanted)
{
    if (strcmp(lines, wanted) != 0)
        fail_msg("%s: \"%s\", not \"%s\"", what, lines, wanted);
    *lines = '\0';
}
#define expect_facts(wanted) expect("facts", world.facts, wanted)
#define expect_sent(wanted)  expect("sent", world.sent, wanted)

static inline void until(int64_t now_ns)
{
    world.now_ns = now_ns;
    timers_run(&world.timers, now_ns);
    agents_levels_flush(world.agents, world.now_ns);
    agents_settle(world.agents, world.ticket);
}

/* A message of `peer`, numbered if it changes state. */
static inline duopoly_Envelope *message(uint64_t peer, pb_size_t kind, bool numbered)
{
    wire_begin(&world.envelope, kind)->epoch = 3;
    world.envelope.sequence = numbered ? ++world.sequence[peer] : 0;
    return &world.envelope;
}

static inline void deliver(uint64_t peer)
{
    agents_message(world.agents, world.now_ns, peer, NULL, &world.envelope);
    agents_levels_flush(world.agents, world.now_ns);
    agents_settle(world.agents, world.ticket);
}

static inline duopoly_Hello *hello(uint64_t peer, const char *name, uint64_t boot,
                                   uint64_t sequence)
{
    duopoly_Hello *h = &message(peer, duopoly_Envelope_hello_tag, false)->body.hello;
    world.envelope.epoch = 0;
    world.sequence[peer] = 0;
    h->version_min = h->version_max = 1;
    strcpy(h->name, name);
    h->boot = boot;
    h->hello_sequence = sequence;
    h->units_count = 1;
    h->units[0].slots = 4;
    uint64_t own = fnv1a(FNV1A_NOTHING, name, strlen(name));
    h->address[0] = 0xfd;
    memcpy(h->address + 8, &own, sizeof(own));
    return h;
}

/* At the address that source_send means by `last`. */
static inline duopoly_Hello *hello_at(uint64_t peer, const char *name, uint8_t last)
{
    duopoly_Hello *h = hello(peer, name, 7, 1);
    memset(h->address, 0, sizeof(h->address));
    h->address[15] = last;
    return h;
}

static inline void inventory_end(uint64_t peer, uint32_t parts)
{
    message(peer, duopoly_Envelope_inventory_end_tag, true)->body.inventory_end.parts = parts;
    deliver(peer);
}

static inline void join(uint64_t peer, const char *name)
{
    hello(peer, name, 7, 1);
    deliver(peer);
    inventory_end(peer, 0);
    *world.facts = *world.sent = '\0';
}

static inline void state_send(uint64_t peer, uint64_t attempt, duopoly_AttemptPhase phase)
{
    duopoly_AttemptState *s =
        &message(peer, duopoly_Envelope_attempt_state_tag, true)->body.attempt_state;
    s->attempt = attempt;
    s->phase = phase;
    strcpy(s->text, "last words");
    deliver(peer);
}

static inline void start(uint32_t host, uint64_t attempt, uint32_t inputs)
{
    static duopoly_Input input[3000];
    const duopoly_Start s = {.attempt = attempt, .job = 1};
    agents_start(world.agents, world.now_ns, host, &s, input, inputs);
}

static inline void source_send(uint64_t peer, uint8_t address, bool flows)
{
    duopoly_SourceState *s =
        &message(peer, duopoly_Envelope_source_state_tag, true)->body.source_state;
    s->attempt = 11;
    s->address[15] = address;
    s->flows = flows;
    deliver(peer);
}

static inline void heartbeats(uint64_t peer, int64_t until_ns)
{
    while (world.now_ns < until_ns) {
        until(world.now_ns + S);
        message(peer, duopoly_Envelope_agent_heartbeat_tag, false);
        deliver(peer);
    }
}

/* The connection of a peer is gone; its session ends with the next message to it. */
static inline void hang_up(uint64_t peer)
{
    world.deaf = peer;
    until(world.now_ns + S);
    world.deaf = 0;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
