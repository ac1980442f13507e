/* Fuzz target of the agents' sessions at the controller (controller/agents): four connections,
 * time, and what the engine would send. All that goes out must be a message, all that becomes a
 * fact must name a host that is there, and at the end nothing may be left armed. */
#include "controller/agents/agents.h"
#include "controller/switch/inventory.h"
#include "lib/log.h"
#include "tests/fuzz/kept.h"
#include "tests/fuzz/said.h"
#include "tests/fuzz/script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define SECOND INT64_C(1000000000)

enum {
    PEERS = 4,
    HOSTS = 3,
    STEP_TIME = 16,
    STEP_START,
    STEP_STOP,
    STEP_LEVELS,
    STEP_MODE,
    STEP_FORGET,
    STEP_COMMIT
};

static struct agents *agents;
static struct inventory switches;
static uint64_t ticket;

static int on_send(void *user, uint64_t peer, const duopoly_Envelope *envelope)
{
    static uint8_t bytes[WIRE_MAX_BYTES];
    size_t length;
    (void)user;
    if (peer >= PEERS || wire_encode(envelope, bytes, sizeof(bytes), &length, NULL) < 0)
        abort();
    said_add(bytes, length);
    return length % 251 ? 0 : -ENOBUFS; /* now and then a peer does not read */
}

static void on_cut(void *user, uint64_t peer)
{
    (void)user;
    if (peer >= PEERS)
        abort();
}

static void on_event(void *user, const struct event *event)
{
    (void)user;
    bool of_host = event->kind >= EVENT_HOST_JOIN && event->kind <= EVENT_HOST_LOAD;
    if (of_host && event->host.host >= HOSTS)
        abort();
}

static void on_failed(void *user, uint64_t attempt, const char *words)
{
    (void)user, (void)attempt;
    if (strlen(words) > sizeof(((duopoly_AttemptState *)0)->text))
        abort();
}

static bool on_levels(void *user, uint64_t attempt, uint32_t *ret_coflow, uint32_t *ret_macroflow)
{
    (void)user;
    *ret_coflow = *ret_macroflow = 3;
    return attempt % 2;
}

static int64_t on_framework_user(void *user, const char *name)
{
    (void)user;
    return *name == 'a' ? 1000 : -1;
}

static bool on_host_needed(void *user, uint32_t host)
{
    (void)user;
    return host == 1;
}

static void on_attempt_done(void *user, const duopoly_AttemptState *state)
{
    (void)user;
    if (state->phase != duopoly_AttemptPhase_PHASE_DONE)
        abort();
}

static void on_host_is(void *user, uint32_t from, uint32_t to)
{
    (void)user;
    if (from == to || from >= HOSTS || to >= HOSTS)
        abort();
}

static bool on_job_wanted(void *user, uint64_t job)
{
    (void)user;
    return job < 100;
}

static bool on_end_wanted(void *user, const duopoly_AttemptState *state)
{
    (void)user;
    return state->attempt % 2;
}

static void on_host_moved(void *user, uint32_t host)
{
    struct agent_kept kept;
    (void)user;
    if (host >= HOSTS)
        abort();
    agents_kept(agents, host, &kept);
}

static bool on_epoch_seen(void *user, const char *name, uint32_t epoch)
{
    (void)user;
    if (!wire_name_valid(name))
        abort();
    return epoch % 2;
}

static uint64_t on_newest_job(void *user)
{
    (void)user;
    return 5;
}

static bool on_jobs_between(void *user, uint64_t after, uint64_t until)
{
    (void)user;
    return after < 5 && until >= 5;
}

static void on_switch_part(void *user, const char *name, int64_t now_ns,
                           const duopoly_SwitchPart *part)
{
    (void)user;
    inventory_take(&switches, name, now_ns, part);
}

static void start_try(int64_t now_ns, const struct script_step *step)
{
    static duopoly_Input inputs[300];
    const duopoly_Start start = {.attempt = step->length ? step->bytes[0] : 0, .job = 1};
    uint32_t host = (uint32_t)step->length % HOSTS;
    struct agent_view view;
    if (agents_of_host(agents, host, &view) == 0)
        agents_start(agents, now_ns, host, &start, inputs, step->length > 1 ? step->bytes[1] : 0);
}

/* Hosts without one are refused: most inputs are older than that. */
static void address_give(duopoly_Envelope *envelope)
{
    duopoly_Hello *hello = &envelope->body.hello;
    if (envelope->which_body == duopoly_Envelope_hello_tag && !hello->address[0]) {
        memcpy(hello->address, hello->name, sizeof(hello->address));
        hello->address[0] = 0xfd;
    }
}

static void message_try(int64_t now_ns, const struct script_step *step)
{
    static duopoly_Envelope envelope;
    struct err err;
    if (wire_decode(step->bytes, step->length, &envelope, &err) < 0) {
        agents_malformed(agents, now_ns, step->what % PEERS, err.text);
        return;
    }
    address_give(&envelope);
    agents_message(agents, now_ns, step->what % PEERS, step->what & 8 ? "h1" : NULL, &envelope);
}

static void step_do(struct timers *timers, int64_t *now_ns, const struct script_step *step)
{
    char name[64];
    switch (step->what) {
    case STEP_TIME:
        *now_ns += (int64_t)step->length * SECOND / 4;
        timers_run(timers, *now_ns);
        break;
    case STEP_START:
        start_try(*now_ns, step);
        break;
    case STEP_STOP:
        agents_stop(agents, (uint32_t)step->length % HOSTS, step->length, "why", 1, false);
        break;
    case STEP_LEVELS:
        agents_level(agents, (uint32_t)step->length % HOSTS, step->length, 1, 2);
        agents_levels_flush(agents, *now_ns);
        break;
    case STEP_MODE:
        agents_mode(agents, *now_ns, (uint32_t)step->length % 2, step->length);
        break;
    case STEP_FORGET:
        snprintf(name, sizeof(name), "h%zu", step->length);
        agents_forget_name(agents, name);
        break;
    case STEP_COMMIT:
        agents_committed(agents, ticket > step->length ? ticket - step->length : 0);
        break;
    default:
        message_try(*now_ns, step);
    }
    agents_settle(agents, ++ticket);
}

static bool on_lives(void *user, uint64_t attempt)
{
    (void)user;
    return attempt % 5 == 0;
}

static enum engine_reading on_reads_from(void *user, uint64_t attempt, uint32_t host)
{
    (void)user;
    return (enum engine_reading)((attempt + host) % 3);
}

static enum engine_reading on_reads_output(void *user, uint32_t host,
                                           const duopoly_OutputLost *lost)
{
    (void)user;
    return (enum engine_reading)((lost->task + host) % 3);
}

static uint32_t on_holder(void *user, const duopoly_OutputLost *lost)
{
    (void)user;
    return lost->stage % (HOSTS + 1);
}

static uint64_t on_proof(void *user, const char *name, uint64_t attempt, uint64_t job,
                         uint32_t stage, uint32_t task)
{
    (void)user, (void)name;
    return 1 + (attempt ^ job ^ stage ^ task) % 3;
}

static uint32_t on_proof_since(void *user, const char *name)
{
    (void)user;
    return (uint32_t)name[0] % 4;
}

static void on_proof_shown(void *user, const char *name)
{
    (void)user, (void)name;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    log_open("fuzz", LOG_LEVEL_ERROR);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = {data, size};
    struct script_step step;
    struct timers timers;
    int64_t now_ns = 0;
    const struct agents_config config = {.epoch = 3,
                                         .hosts_max = HOSTS,
                                         .heartbeat_ns = SECOND,
                                         .silent_ns = 3 * SECOND,
                                         .host_lost_ns = 30 * SECOND,
                                         .lease_ns = 10 * SECOND,
                                         .resync_wait_ns = 5 * SECOND,
                                         .start_timeout_ns = 5 * SECOND,
                                         .forget_ns = 60 * SECOND,
                                         .unanswered_bytes = 100000};
    const struct agents_hooks hooks = {.send = on_send,
                                       .cut = on_cut,
                                       .event = on_event,
                                       .failed = on_failed,
                                       .levels = on_levels,
                                       .job_wanted = on_job_wanted,
                                       .knows.end_wanted = on_end_wanted,
                                       .host_moved = on_host_moved,
                                       .framework_user = on_framework_user,
                                       .newest_job = on_newest_job,
                                       .epoch_seen = on_epoch_seen,
                                       .jobs_between = on_jobs_between,
                                       .switch_part = on_switch_part,
                                       .knows.lives = on_lives,
                                       .knows.reads_from = on_reads_from,
                                       .knows.reads_output = on_reads_output,
                                       .knows.holder = on_holder,
                                       .knows.proof = on_proof,
                                       .knows.proof_since = on_proof_since,
                                       .knows.proof_shown = on_proof_shown,
                                       .host_needed = on_host_needed,
                                       .host_is = on_host_is,
                                       .attempt_done = on_attempt_done};
    const struct agent_kept known = {.host = 0, .name = "h1"};
    said_begin();
    timers_init(&timers);
    if (agents_create(&config, &hooks, &timers, &agents) < 0)
        return 0;
    ticket = 0;
    agents_restore(agents, 0, &known, size % 3 == 0);
    while (script_next(&script, &step))
        step_do(&timers, &now_ns, &step);
    agents_destroy(agents);
    inventory_done(&switches);
    if (timers_next_ns(&timers) != INT64_MAX)
        abort();
    return 0;
}
