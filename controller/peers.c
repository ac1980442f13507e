#include "controller/peers.h"

#include "controller/conductor.h"
#include "controller/learning.h"
#include "controller/stances_kept.h"
#include "controller/store/profile_rows.h"
#include "lib/log.h"
#include "lib/now.h"

#include <inttypes.h>

static int on_send(void *user, uint64_t peer, const duopoly_Envelope *envelope)
{
    struct peers *peers = user;
    return peers->hooks.send(peers->hooks.send_user, peer, envelope);
}

static void on_cut(void *user, uint64_t peer)
{
    const struct peers *peers = user;
    peers->hooks.cut(peers->hooks.send_user, peer);
}

static void on_event(void *user, const struct event *event)
{
    const struct peers *peers = user;
    bool spoken = peers->spoken && peers->spoken == event->attempt.attempt;
    peers->event(peers->user, event, spoken ? peers->words : "");
}

static void on_failed(void *user, uint64_t attempt, const char *words)
{
    struct peers *peers = user;
    peers->spoken = attempt;
    wire_copy(peers->words, sizeof(peers->words), words);
}

static bool on_levels(void *user, uint64_t attempt, uint32_t *ret_coflow, uint32_t *ret_macroflow)
{
    const struct peers *peers = user;
    struct attempt_view view;
    if (engine_attempt(peers->parts->engine, attempt, &view) < 0 || view.state >= ATTEMPT_DONE)
        return false;
    *ret_coflow = level_on_wire(view.coflow_level);
    *ret_macroflow = level_on_wire(view.macroflow_level);
    return true;
}

static bool on_job_wanted(void *user, uint64_t job)
{
    const struct peers *peers = user;
    struct job_view view;
    return engine_job(peers->parts->engine, job, &view) == 0 &&
           (view.state == JOB_ARRIVING || view.state == JOB_ACTIVE);
}

static void on_host_moved(void *user, uint32_t host)
{
    ledger_host_moved(((const struct peers *)user)->ledger, host);
}

static uint64_t on_newest_job(void *user)
{
    const struct peers *peers = user;
    return epoch_newest_job(peers->parts->epoch);
}

static bool on_epoch_seen(void *user, const char *name, uint32_t epoch)
{
    const struct peers *peers = user;
    return peers->hooks.epoch_seen(peers->hooks.epoch_user, name, epoch);
}

static bool on_jobs_between(void *user, uint64_t after, uint64_t until)
{
    const struct peers *peers = user;
    struct job_view job;
    return engine_job_after(peers->parts->engine, after, &job) == 0 && job.job <= until;
}

static void on_switch_part(void *user, const char *name, int64_t now_ns,
                           const duopoly_SwitchPart *part)
{
    struct peers *peers = user;
    log_debug("switch %s: part %" PRIu32 " of what it has, %u ports, %u steps to do", name,
              part->part, part->port_rows_count, part->step_rows_count);
    inventory_take(&peers->switches, name, now_ns, part);
}

static int64_t on_framework_user(void *user, const char *name)
{
    return frameworks_user(((const struct peers *)user)->parts->frameworks, name);
}

static bool on_host_needed(void *user, uint32_t host)
{
    const struct peers *peers = user;
    struct host_view view;
    return engine_host(peers->parts->engine, host, &view) == 0 &&
           (view.running || view.jobs_outputs);
}

static void on_host_is(void *user, uint32_t from, uint32_t to)
{
    frameworks_host_is(((const struct peers *)user)->parts->frameworks, from, to);
}

/* What is learnt belongs to the change with which the end is stored. */
static void on_attempt_done(void *user, const duopoly_AttemptState *state)
{
    const struct peers *peers = user;
    const struct conductor_parts *parts = peers->parts;
    struct event correction;
    uint64_t history;
    uint32_t variant;
    if (learning_corrects(parts->engine, state, &correction))
        peers->event(peers->user, &correction, "");
    if (learning_see(parts->learnt, parts->engine, clock_now_ns(parts->clock), state, &history,
                     &variant))
        profile_rows_put(parts->store, parts->learnt, history, variant,
                         (int64_t)now_ns(CLOCK_REALTIME));
}

static bool on_asked(void *user, const char *name, const duopoly_AskedPart *part)
{
    const struct peers *peers = user;
    return peers->asked(peers->user, name, part);
}

static bool on_lives(void *user, uint64_t attempt)
{
    const struct peers *peers = user;
    struct attempt_view view;
    return engine_attempt(peers->parts->engine, attempt, &view) == 0;
}

/* An end that came while no controller listened. A failure counts once: an inventory may repeat it
 * before the agent knows that it was accepted. */
static bool on_end_wanted(void *user, const duopoly_AttemptState *state)
{
    const struct peers *peers = user;
    struct attempt_view attempt;
    struct task_view task;
    struct job_view job;
    bool done = state->phase == duopoly_AttemptPhase_PHASE_DONE;
    bool failed = state->phase == duopoly_AttemptPhase_PHASE_FAILED ||
                  state->phase == duopoly_AttemptPhase_PHASE_REFUSED;
    if ((!done && !failed) || engine_attempt(peers->parts->engine, state->attempt, &attempt) == 0 ||
        engine_job(peers->parts->engine, state->job, &job) < 0 || job.state != JOB_ACTIVE ||
        engine_task(peers->parts->engine, state->job, state->stage, state->task, &task) < 0)
        return false;
    bool older = state->attempt >> 32 < epoch_number(peers->parts->epoch);
    return task.state != TASK_DONE &&
           (done || (older && !history_attempt(peers->parts->history, state->attempt)));
}

static enum engine_reading on_reads_from(void *user, uint64_t attempt, uint32_t host)
{
    const struct peers *peers = user;
    return engine_reads_from(peers->parts->engine, attempt, host);
}

static enum engine_reading on_reads_output(void *user, uint32_t host,
                                           const duopoly_OutputLost *lost)
{
    const struct peers *peers = user;
    return engine_reads_output(peers->parts->engine, host, lost->job, lost->stage, lost->task,
                               lost->attempt);
}

static uint32_t on_holder(void *user, const duopoly_OutputLost *lost)
{
    const struct peers *peers = user;
    struct task_view task;
    return engine_task(peers->parts->engine, lost->job, lost->stage, lost->task, &task) == 0
               ? task.host
               : ENGINE_NONE;
}

static uint64_t on_proof(void *user, const char *name, uint64_t attempt, uint64_t job,
                         uint32_t stage, uint32_t task)
{
    const struct peers *peers = user;
    return attempt_proof_of(&peers->proof, name, attempt, job, stage, task);
}

static uint32_t on_proof_since(void *user, const char *name)
{
    const struct peers *peers = user;
    return attempt_proof_since(peers->parts->store, name);
}

static void on_proof_shown(void *user, const char *name)
{
    const struct peers *peers = user;
    attempt_proof_shown(peers->parts->store, name, epoch_number(peers->parts->epoch));
}

static struct agents_knowledge knowledge_of(struct peers *peers)
{
    return (struct agents_knowledge){
        .lives = on_lives,
        .end_wanted = on_end_wanted,
        .reads_from = on_reads_from,
        .reads_output = on_reads_output,
        .holder = on_holder,
        .proof = on_proof,
        .proof_since = on_proof_since,
        .proof_shown = on_proof_shown,
        .user = peers,
    };
}

void peers_take_settings(struct peers *peers)
{
    const struct settings_timers *timers = &peers->parts->settings->timers;
    const struct agents_config times = {.start_timeout_ns = timers->start_timeout_ns,
                                        .forget_ns = timers->forget_ns,
                                        .fetch_stall_ns = timers->fetch_stall_ns};
    agents_take_times(peers->parts->agents, &times);
    frameworks_take_forget(peers->parts->frameworks, timers->forget_ns);
}

static int agents_begin(struct peers *peers, const struct recovered *recovered,
                        struct timers *timers)
{
    const struct settings *settings = peers->parts->settings;
    struct engine_config engine;
    settings_engine(settings, epoch_number(peers->parts->epoch), &engine);
    const struct agents_config config = {
        .epoch = epoch_number(peers->parts->epoch),
        .hosts_max = (uint32_t)settings->bounds.hosts,
        .heartbeat_ns = settings->timers.heartbeat_ns,
        .silent_ns = settings->timers.silent_ns,
        .host_lost_ns = settings->timers.host_lost_ns,
        .lease_ns = settings->timers.lease_ns,
        .resync_wait_ns = settings->timers.resync_wait_ns,
        .start_timeout_ns = settings->timers.start_timeout_ns,
        .forget_ns = settings->timers.forget_ns,
        .fetch_stall_ns = settings->timers.fetch_stall_ns,
        .unit_slots_max = settings->bounds.tasks_per_host,
        .unanswered_bytes = (uint64_t)settings->bounds.unanswered_bytes,
        .claims_bytes = (uint64_t)settings->bounds.claims_bytes,
        .time_permille = settings->bounds.host_time_permille,
        .congested_permille = (uint32_t)settings->policy.congested_permille,
        .cleared_permille = (uint32_t)settings->policy.cleared_permille,
        .guests = engine.dclas,
        .where = peers->hooks.where,
    };
    const struct agents_hooks hooks = {
        .send = on_send,
        .cut = on_cut,
        .event = on_event,
        .failed = on_failed,
        .levels = on_levels,
        .job_wanted = on_job_wanted,
        .host_moved = on_host_moved,
        .newest_job = on_newest_job,
        .epoch_seen = on_epoch_seen,
        .jobs_between = on_jobs_between,
        .switch_part = on_switch_part,
        .knows = knowledge_of(peers),
        .framework_user = on_framework_user,
        .host_needed = on_host_needed,
        .host_is = on_host_is,
        .attempt_done = on_attempt_done,
        .asked = on_asked,
        .user = peers,
    };
    struct engine_status status;
    int r = agents_create(&config, &hooks, timers, &peers->parts->agents);
    if (r == 0)
        r = stances_kept_read(peers->parts->store, peers->parts->agents);
    if (r == 0)
        r = agents_restore(peers->parts->agents, peers->parts->started_ns, recovered->hosts,
                           recovered->n_hosts);
    if (r < 0)
        return r;
    engine_status(peers->parts->engine, &status);
    agents_mode(peers->parts->agents, peers->parts->started_ns, (uint32_t)status.mode,
                status.mode_sequence);
    return 0;
}

static uint32_t on_framework_host(void *user, const char *name)
{
    const struct peers *peers = user;
    struct agent_view agent;
    return agents_named(peers->parts->agents, name, &agent) == 0 ? agent.host : ENGINE_NONE;
}

static uint32_t on_claim(void *user, const char *name, const uint8_t *address)
{
    const struct peers *peers = user;
    return agents_claim_host(peers->parts->agents, name, address);
}

static void on_release(void *user, int64_t now_ns, uint32_t host)
{
    agents_release_host(((const struct peers *)user)->parts->agents, now_ns, host);
}

static const char *on_framework_host_name(void *user, uint32_t host)
{
    const struct peers *peers = user;
    struct agent_view agent;
    return agents_of_host(peers->parts->agents, host, &agent) == 0 ? agent.name : "";
}

static void on_guests(void *user, uint32_t host, const duopoly_GuestAllows *said)
{
    agents_tell_guests(((const struct peers *)user)->parts->agents, host, said);
}

static void on_work(void *user, uint64_t application, void (*work)(void *of, int64_t now_ns),
                    void *of, int64_t now_ns)
{
    const struct peers *peers = user;
    peers->work(peers->user, application, work, of, now_ns);
}

static int frameworks_begin(struct peers *peers, struct timers *timers)
{
    const struct settings *settings = peers->parts->settings;
    const struct settings_timers *times = &settings->timers;
    const int64_t most_ns = FRAMEWORK_VALID_MS * INT64_C(1000000) / 2;
    const struct frameworks_config config = {
        .epoch = epoch_number(peers->parts->epoch),
        .heartbeat_ns = times->heartbeat_ns < most_ns ? times->heartbeat_ns : most_ns,
        .silent_ns = times->silent_ns,
        .lost_ns = times->host_lost_ns,
        .forget_ns = times->forget_ns,
        .executor_slots_max = settings->bounds.tasks_per_host,
        .time_permille = settings->bounds.framework_time_permille,
        .all_executors_max = (uint64_t)settings->bounds.executors,
        .all_slots_max = (uint64_t)settings->bounds.executor_slots,
    };
    const struct frameworks_hooks hooks = {
        .send = on_send,
        .cut = on_cut,
        .event = on_event,
        .host = on_framework_host,
        .host_name = on_framework_host_name,
        .claim = on_claim,
        .release = on_release,
        .guests = on_guests,
        .work = on_work,
        .user = peers,
    };
    return frameworks_create(&config, &hooks, peers->parts->engine, timers,
                             &peers->parts->frameworks);
}

int peers_open(struct peers *peers, const struct recovered *recovered, struct timers *timers,
               struct err *err)
{
    peers->parts->switches = &peers->switches;
    int r = attempt_proof_open(peers->parts->store, &peers->proof, err);
    if (r < 0)
        return r;
    if ((r = agents_begin(peers, recovered, timers)) < 0)
        return err_sys(err, -r, "the table of agents");
    r = frameworks_begin(peers, timers);
    return r < 0 ? err_sys(err, -r, "the table of frameworks") : 0;
}

void peers_close(struct peers *peers)
{
    frameworks_destroy(peers->parts->frameworks);
    agents_destroy(peers->parts->agents);
    inventory_done(&peers->switches);
    dispatch_scratch_done(&peers->scratch);
}

void peers_decision(struct peers *peers, int64_t now_ns, const struct decision *decision)
{
    if (!frameworks_decision(peers->parts->frameworks, now_ns, decision))
        dispatch_decision(peers->parts->engine, peers->parts->agents, now_ns, decision,
                          &peers->scratch);
}

int peers_forget(struct peers *peers, const char *name)
{
    int r = agents_forget_name(peers->parts->agents, name);
    if (r < 0)
        return r;
    store_set(peers->parts->store, "drain", name, NULL);
    attempt_proof_shown(peers->parts->store, name, 0);
    inventory_forget(&peers->switches, name);
    return 0;
}
