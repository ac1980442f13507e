#include "controller/conductor.h"

#include "controller/agents/dispatch.h"
#include "controller/conductor_log.h"
#include "controller/knowledge.h"
#include "controller/portions.h"
#include "controller/stances_kept.h"
#include "controller/store/ledger.h"
#include "controller/store/recovery.h"
#include "lib/container_of.h"
#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the attempt that the next fact is about. */
struct last_words {
    uint64_t attempt;
    char text[256];
};

struct conductor {
    struct conductor_parts parts; /* what others see of what follows, and what they may change */
    sd_event *loop;
    sd_event_source *after; /* flushes the recording after each dispatch of the loop */
    struct settings settings;
    struct ledger *ledger;
    struct conductor_hooks hooks;
    struct clock *clock;
    struct timers timers;
    struct timer deadline; /* the engine's */
    struct engine *engine;
    struct history *history;
    struct recording *recording; /* NULL: none */
    struct inventory switches;
    struct orphans orphans;
    struct conductor_log log;
    struct audience audience;
    struct knowledge knowledge; /* agents' words are judged by it */
    struct event *queue;        /* facts that wait for the next step */
    size_t queued, queue_size;
    struct event *stepping; /* the other half: what the engine takes while new ones come */
    size_t stepping_size;
    struct decisions decisions;
    struct dispatch_room room;
    uint64_t requests;
    struct decision rejection; /* of the last request */
    bool rejected, running, broken;
    bool asking;        /* a client's request may put more rows: they are committed together */
    bool stuck;         /* the log says that the store is not written */
    uint64_t most_held; /* counted bytes, since memory was given back */
    struct portions *tidying;
    struct last_words words;
    const char *asker; /* who asks for what is being stepped */
};

static void conductor_break(struct conductor *conductor, const char *what)
{
    log_error(LOG_FAULT_US, "%s: the controller cannot go on", what);
    conductor->broken = true;
    sd_event_exit(conductor->loop, EXIT_FAILURE);
}

static void on_event(void *user, const struct event *event)
{
    struct conductor *conductor = user;
    const struct last_words *words = &conductor->words;
    const struct fact_sources sources = {
        .engine = conductor->engine,
        .frameworks = conductor->parts.frameworks,
        .now_ns = clock_now_ns(conductor->clock),
        .before = conductor->queued ? &conductor->queue[conductor->queued - 1] : NULL,
        .words = words->attempt && words->attempt == event->attempt.attempt ? words->text : "",
    };
    audience_event(&conductor->audience, &sources, event);
    if (conductor->queued == conductor->queue_size) {
        size_t size = conductor->queue_size ? 2 * conductor->queue_size : 64;
        struct event *queue = reallocarray(conductor->queue, size, sizeof(*queue));
        if (!queue) {
            conductor_break(conductor, "out of memory");
            return;
        }
        conductor->queue = queue;
        conductor->queue_size = size;
    }
    conductor->queue[conductor->queued++] = *event;
}

static void on_failed(void *user, uint64_t attempt, const char *words)
{
    struct conductor *conductor = user;
    conductor->words.attempt = attempt;
    wire_copy(conductor->words.text, sizeof(conductor->words.text), words);
}

static void job_tell(const struct conductor *conductor, const struct decision *decision)
{
    const char *asker = *conductor->asker ? conductor->asker : "its application";
    struct job_fact fact;
    job_fact_of(conductor->history, conductor->engine, decision, asker, &fact);
    audience_job_over(&conductor->audience, &fact);
}

static void decision_take(struct conductor *conductor, int64_t now_ns,
                          const struct decision *decision)
{
    switch (decision->kind) {
    case DECISION_JOB_DONE:
    case DECISION_JOB_FAILED:
        job_tell(conductor, decision);
        break;
    case DECISION_REJECT:
        if (decision->reject.request == conductor->requests) {
            conductor->rejection = *decision;
            conductor->rejected = true;
        }
        break;
    default:
        audience_decision(&conductor->audience, decision);
        if (!frameworks_decision(conductor->parts.frameworks, now_ns, decision))
            dispatch_decision(conductor->engine, conductor->parts.agents, now_ns, decision,
                              &conductor->room);
    }
}

/* Before all else of a step: a start keeps its agent busy for a millisecond, and the mode is to
 * reach all hosts together. Nothing depends on their order. */
static void modes_take(struct conductor *conductor, int64_t now_ns)
{
    struct mode_change *change = &conductor->parts.mode_change;
    for (size_t i = 0; i < conductor->decisions.n; i++) {
        const struct decision *decision = &conductor->decisions.at[i];
        if (decision->kind != DECISION_MODE)
            continue;
        *change = (struct mode_change){now_ns, decision->left, decision->right, ""};
        wire_copy(change->rule, sizeof(change->rule), engine_policy(conductor->engine, "mode"));
        decision_take(conductor, now_ns, decision);
    }
}

static void step(struct conductor *conductor)
{
    int64_t now_ns = clock_now_ns(conductor->clock);
    struct event *events = conductor->queue;
    size_t n = conductor->queued, size = conductor->queue_size;
    conductor->queue = conductor->stepping;
    conductor->queue_size = conductor->stepping_size;
    conductor->queued = 0;
    conductor->stepping = events;
    conductor->stepping_size = size;
    if (engine_step(conductor->engine, now_ns, events, n, &conductor->decisions) < 0) {
        conductor_break(conductor, "out of memory");
        return;
    }
    const struct step stepped = {now_ns, events, n, &conductor->decisions};
    conductor->parts.version++;
    audience_stepped(&conductor->audience, &stepped);
    if (ledger_failed(conductor->ledger)) {
        conductor_break(conductor, "out of memory");
        return;
    }
    modes_take(conductor, now_ns);
    for (size_t i = 0; i < conductor->decisions.n; i++)
        if (conductor->decisions.at[i].kind != DECISION_MODE)
            decision_take(conductor, now_ns, &conductor->decisions.at[i]);
}

static void rearm(struct conductor *conductor)
{
    int64_t due_ns = engine_deadline_ns(conductor->engine);
    if (due_ns == INT64_MAX)
        timers_disarm(&conductor->timers, &conductor->deadline);
    else if (!conductor->deadline.armed || conductor->deadline.due_ns != due_ns)
        timers_arm(&conductor->timers, &conductor->deadline, due_ns);
    clock_arm(conductor->clock, timers_next_ns(&conductor->timers));
}

/* Hands what is to last to the store; the ticket of all that was handed over so far. */
static uint64_t commit(struct conductor *conductor)
{
    uint64_t ticket = 0;
    if (ledger_commit(conductor->ledger, conductor->parts.agents, &ticket) < 0)
        conductor_break(conductor, "out of memory");
    return ticket;
}

/* Steps until nothing follows any more, then sends levels and acknowledges. `wake`: at least once,
 * also without a fact. */
static void run(struct conductor *conductor, bool wake)
{
    if (conductor->running)
        return;
    conductor->running = true;
    do {
        for (; (wake || conductor->queued) && !conductor->broken; wake = false)
            step(conductor);
        if (conductor->asking)
            break;
        agents_levels_flush(conductor->parts.agents, clock_now_ns(conductor->clock));
        agents_settle(conductor->parts.agents, commit(conductor));
        frameworks_settle(conductor->parts.frameworks, clock_now_ns(conductor->clock));
        /* What could not be sent ended a session. */
    } while (conductor->queued && !conductor->broken);
    conductor->running = false;
    rearm(conductor);
}

void conductor_run(struct conductor *conductor)
{
    run(conductor, false);
}

uint64_t conductor_commit(struct conductor *conductor)
{
    conductor->asking = false;
    run(conductor, false);
    return commit(conductor);
}

static void on_stored(void *user)
{
    struct conductor *conductor = user;
    struct err err;
    int r = store_refusal(conductor->parts.store, &err);
    if (r == 0)
        r = epoch_keep(conductor->parts.epoch, &err);
    agents_committed(conductor->parts.agents, store_committed(conductor->parts.store));
    conductor_commit(conductor);
    if (r < 0 && !conductor->stuck)
        log_error(LOG_FAULT_US, "%s", err.text);
    else if (r == 0 && conductor->stuck)
        log_note("the store is written again: requests are taken");
    conductor->stuck = r < 0;
    conductor->hooks.clients.stored(conductor->hooks.clients.user);
}

int conductor_request(struct conductor *conductor, struct event *request,
                      struct decision *ret_rejection)
{
    request->request = ++conductor->requests;
    conductor->rejected = false;
    conductor->asking = true;
    on_event(conductor, request);
    run(conductor, false);
    if (!conductor->rejected)
        return 0;
    *ret_rejection = conductor->rejection;
    return -EPERM;
}

void conductor_submitter(struct conductor *conductor, uint64_t submitter)
{
    struct event event = {.kind = EVENT_JOB_SUBMITTER};
    event.job_submitter.submitter = submitter;
    on_event(conductor, &event);
}

int conductor_cancel(struct conductor *conductor, uint64_t job, const char *asker,
                     struct decision *ret_rejection)
{
    struct event event = {.kind = EVENT_JOB_CANCEL};
    event.job_cancel.job = job;
    conductor->asker = asker;
    int r = conductor_request(conductor, &event, ret_rejection);
    conductor->asker = "";
    return r;
}

static void on_deadline(struct timer *timer, int64_t now_ns)
{
    struct conductor *conductor = container_of(timer, struct conductor, deadline);
    (void)now_ns;
    conductor->asking = false;
    run(conductor, true);
}

static void on_due(void *user, int64_t now_ns)
{
    struct conductor *conductor = user;
    timers_run(&conductor->timers, now_ns);
    conductor_commit(conductor);
}

static bool on_tidying(void *user)
{
    const struct conductor *conductor = user;
    return engine_tidy(conductor->engine);
}

static int on_after(sd_event_source *source, void *user)
{
    struct conductor *conductor = user;
    struct err err;
    (void)source;
    cost_turn_over(&conductor->parts.turns);
    cost_follow_memory(&conductor->most_held, engine_counted_bytes(conductor->engine) +
                                                  engine_removed_bytes(conductor->engine));
    if (engine_tidy(conductor->engine))
        portions_begin(conductor->tidying);
    if (conductor->asking)
        conductor_commit(conductor);
    int r = conductor->recording ? recording_flush(conductor->recording, &err) : 0;
    if (r < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
    else if (r > 0)
        log_note("%s", err.text);
    return 0;
}

static int on_send(void *user, uint64_t peer, const duopoly_Envelope *envelope)
{
    struct conductor *conductor = user;
    return conductor->hooks.send(conductor->hooks.send_user, peer, envelope);
}

static void on_cut(void *user, uint64_t peer)
{
    const struct conductor *conductor = user;
    conductor->hooks.cut(conductor->hooks.send_user, peer);
}

static bool on_levels(void *user, uint64_t attempt, uint32_t *ret_coflow, uint32_t *ret_macroflow)
{
    const struct conductor *conductor = user;
    struct attempt_view view;
    if (engine_attempt(conductor->engine, attempt, &view) < 0 || view.state >= ATTEMPT_DONE)
        return false;
    *ret_coflow = level_on_wire(view.coflow_level);
    *ret_macroflow = level_on_wire(view.macroflow_level);
    return true;
}

static bool on_job_wanted(void *user, uint64_t job)
{
    const struct conductor *conductor = user;
    struct job_view view;
    return engine_job(conductor->engine, job, &view) == 0 &&
           (view.state == JOB_ARRIVING || view.state == JOB_ACTIVE);
}

static void on_host_moved(void *user, uint32_t host)
{
    ledger_host_moved(((const struct conductor *)user)->ledger, host);
}

int conductor_forget_host(struct conductor *conductor, const char *name)
{
    int r = agents_forget_name(conductor->parts.agents, name);
    if (r == 0) {
        store_set(conductor->parts.store, "drain", name, NULL);
        knowledge_forget(&conductor->knowledge, name);
        inventory_forget(&conductor->switches, name);
    }
    run(conductor, false);
    return r;
}

static uint64_t on_newest_job(void *user)
{
    const struct conductor *conductor = user;
    return epoch_newest_job(conductor->parts.epoch);
}

static bool on_epoch_seen(void *user, const char *name, uint32_t epoch)
{
    const struct conductor *conductor = user;
    return conductor->hooks.epoch_seen(conductor->hooks.epoch_user, name, epoch);
}

static bool on_jobs_between(void *user, uint64_t after, uint64_t until)
{
    const struct conductor *conductor = user;
    struct job_view job;
    return engine_job_after(conductor->engine, after, &job) == 0 && job.job <= until;
}

const struct conductor_parts *conductor_parts(const struct conductor *conductor)
{
    return &conductor->parts;
}

int conductor_prepare(struct conductor *conductor, uint64_t job, uint64_t most)
{
    int r = engine_prepare(conductor->engine, job, most);
    if (r < 0)
        conductor_break(conductor, "out of memory");
    return r;
}

static void on_switch_part(void *user, const char *name, int64_t now_ns,
                           const duopoly_SwitchPart *part)
{
    struct conductor *conductor = user;
    inventory_take(&conductor->switches, name, now_ns, part);
}

static int64_t on_framework_user(void *user, const char *name)
{
    return frameworks_user(((const struct conductor *)user)->parts.frameworks, name);
}

static bool on_host_needed(void *user, uint32_t host)
{
    const struct conductor *conductor = user;
    struct host_view view;
    return engine_host(conductor->engine, host, &view) == 0 && (view.running || view.jobs_outputs);
}

static void on_host_is(void *user, uint32_t from, uint32_t to)
{
    frameworks_host_is(((const struct conductor *)user)->parts.frameworks, from, to);
}

static int agents_begin(struct conductor *conductor, const struct recovered *recovered)
{
    const struct settings *settings = &conductor->settings;
    struct engine_config engine;
    settings_engine(settings, epoch_number(conductor->parts.epoch), &engine);
    const struct agents_config config = {
        .epoch = epoch_number(conductor->parts.epoch),
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
        .congested_permille = (uint32_t)settings->policy.congested_permille,
        .cleared_permille = (uint32_t)settings->policy.cleared_permille,
        .guests = engine.dclas,
        .where = conductor->hooks.where,
    };
    const struct agents_hooks hooks = {
        on_send,           on_cut,          on_event,       on_failed,
        on_levels,         on_job_wanted,   on_host_moved,  on_newest_job,
        on_epoch_seen,     on_jobs_between, on_switch_part, knowledge_hooks(&conductor->knowledge),
        on_framework_user, on_host_needed,  on_host_is,     conductor};
    struct engine_status status;
    int r = agents_create(&config, &hooks, &conductor->timers, &conductor->parts.agents);
    if (r == 0)
        stances_kept_read(conductor->parts.store, conductor->parts.agents);
    if (r == 0)
        r = agents_restore(conductor->parts.agents, conductor->parts.started_ns, recovered->hosts,
                           recovered->n_hosts);
    if (r < 0)
        return r;
    engine_status(conductor->engine, &status);
    agents_mode(conductor->parts.agents, (uint32_t)status.mode, status.mode_sequence);
    return 0;
}

static uint32_t on_framework_host(void *user, const char *name)
{
    const struct conductor *conductor = user;
    struct agent_view agent;
    return agents_named(conductor->parts.agents, name, &agent) == 0 ? agent.host : ENGINE_NONE;
}

static uint32_t on_claim(void *user, const char *name, const uint8_t *address)
{
    const struct conductor *conductor = user;
    return agents_claim_host(conductor->parts.agents, name, address);
}

static void on_release(void *user, int64_t now_ns, uint32_t host)
{
    agents_release_host(((const struct conductor *)user)->parts.agents, now_ns, host);
}

static const char *on_framework_host_name(void *user, uint32_t host)
{
    const struct conductor *conductor = user;
    struct agent_view agent;
    return agents_of_host(conductor->parts.agents, host, &agent) == 0 ? agent.name : "";
}

static void on_guests(void *user, uint32_t host, const duopoly_GuestAllows *said)
{
    agents_tell_guests(((const struct conductor *)user)->parts.agents, host, said);
}

static int frameworks_begin(struct conductor *conductor)
{
    const struct settings_timers *timers = &conductor->settings.timers;
    const int64_t most_ns = FRAMEWORK_VALID_MS * INT64_C(1000000) / 2;
    const struct frameworks_config config = {
        .epoch = epoch_number(conductor->parts.epoch),
        .heartbeat_ns = timers->heartbeat_ns < most_ns ? timers->heartbeat_ns : most_ns,
        .silent_ns = timers->silent_ns,
        .lost_ns = timers->host_lost_ns,
        .forget_ns = timers->forget_ns,
        .executor_slots_max = conductor->settings.bounds.tasks_per_host,
        .time_permille = conductor->settings.bounds.framework_time_permille,
        .all_executors_max = (uint64_t)conductor->settings.bounds.executors,
        .all_slots_max = (uint64_t)conductor->settings.bounds.executor_slots,
    };
    const struct frameworks_hooks hooks = {
        on_send,  on_cut,     on_event,  on_framework_host, on_framework_host_name,
        on_claim, on_release, on_guests, conductor};
    int r = frameworks_create(&config, &hooks, conductor->engine, &conductor->timers,
                              &conductor->parts.frameworks);
    conductor->log.frameworks = conductor->parts.frameworks;
    return r;
}

static void parts_gather(struct conductor *conductor)
{
    struct conductor_parts *parts = &conductor->parts;
    parts->settings = &conductor->settings;
    parts->clock = conductor->clock;
    parts->engine = conductor->engine;
    parts->history = conductor->history;
    parts->recording = conductor->recording;
    parts->switches = &conductor->switches;
    parts->orphans = &conductor->orphans;
    conductor->orphans.engine = conductor->engine;
    conductor->log.engine = conductor->engine;
    conductor->audience = (struct audience){.users = {
                                                [LISTENER_RECORDING] = conductor->recording,
                                                [LISTENER_LEDGER] = conductor->ledger,
                                                [LISTENER_HISTORY] = conductor->history,
                                                [LISTENER_ORPHANS] = &conductor->orphans,
                                                [LISTENER_LOG] = &conductor->log,
                                                [LISTENER_CLIENTS] = &conductor->hooks.clients,
                                            }};
}

/* Engine and history as the store has them; then it is written on. */
static int recover(struct conductor *conductor, bool scripted, struct recovered *ret_recovered,
                   struct err *err)
{
    struct engine_config config;
    int64_t now_ns = conductor->parts.started_ns;
    int64_t offset_ns = recovery_offset(conductor->parts.store, scripted, now_ns);
    settings_engine(&conductor->settings, epoch_number(conductor->parts.epoch), &config);
    if (!(conductor->history = history_create(config.finished_max)))
        return err_sys(err, ENOMEM, "the history of jobs");
    int r = recovery_run(conductor->parts.store, &config, now_ns, offset_ns, conductor->history,
                         ret_recovered, err);
    if (r < 0)
        return r;
    conductor->engine = ret_recovered->engine;
    conductor->parts.newest_stored = ret_recovered->newest_job;
    conductor_log_recovered(ret_recovered);
    r = ledger_create(conductor->parts.store, conductor->engine, offset_ns, &conductor->ledger);
    return r < 0 ? err_sys(err, -r, "the store")
                 : store_begin(conductor->parts.store, conductor->loop, on_stored, conductor, err);
}

static int conductor_begin(struct conductor *conductor, const char *clock_path, struct err *err)
{
    const struct settings_recording *recording = &conductor->settings.recording;
    struct recovered recovered = {0};
    int r = clock_open(conductor->loop, clock_path, on_due, conductor, &conductor->clock, err);
    if (r < 0)
        return r;
    conductor->parts.started_ns = clock_now_ns(conductor->clock);
    conductor->asker = "";
    if ((r = recover(conductor, clock_path, &recovered, err)) < 0)
        return r;
    if (*recording->folder && (r = recording_open(recording->folder, (uint64_t)recording->max_bytes,
                                                  (uint32_t)recording->files, conductor->engine,
                                                  &conductor->recording, err)) < 0)
        goto end;
    if ((r = knowledge_open(conductor->engine, conductor->history, conductor->parts.store,
                            epoch_number(conductor->parts.epoch), &conductor->knowledge, err)) < 0)
        goto end;
    parts_gather(conductor);
    if ((r = agents_begin(conductor, &recovered)) < 0)
        r = err_sys(err, -r, "the table of agents");
    else if ((r = frameworks_begin(conductor)) < 0)
        r = err_sys(err, -r, "the table of frameworks");
    else if ((r = sd_event_add_post(conductor->loop, &conductor->after, on_after, conductor)) < 0)
        r = err_sys(err, -r, "the loop");
    else if ((r = portions_open(conductor->loop, on_tidying, conductor, &conductor->tidying,
                                err)) == 0)
        rearm(conductor);
end:
    free(recovered.hosts);
    return r < 0 ? r : 0;
}

int conductor_open(sd_event *loop, const struct settings *settings, struct epoch *epoch,
                   struct store *store, const char *clock_path, const struct conductor_hooks *hooks,
                   struct conductor **ret_conductor, struct err *err)
{
    struct conductor *conductor = calloc(1, sizeof(*conductor));
    if (!conductor)
        return err_sys(err, ENOMEM, "the controller");
    conductor->loop = sd_event_ref(loop);
    conductor->settings = *settings;
    conductor->parts = (struct conductor_parts){.epoch = epoch, .store = store};
    conductor->hooks = *hooks;
    conductor->deadline.fire = on_deadline;
    timers_init(&conductor->timers);
    int r = conductor_begin(conductor, clock_path, err);
    if (r < 0) {
        conductor_close(conductor);
        return r;
    }
    *ret_conductor = conductor;
    return 0;
}

void conductor_close(struct conductor *conductor)
{
    if (!conductor)
        return;
    sd_event_source_disable_unref(conductor->after);
    portions_close(conductor->tidying);
    frameworks_destroy(conductor->parts.frameworks);
    agents_destroy(conductor->parts.agents);
    inventory_done(&conductor->switches);
    history_destroy(conductor->history);
    ledger_destroy(conductor->ledger);
    recording_close(conductor->recording);
    engine_destroy(conductor->engine);
    clock_close(conductor->clock);
    decisions_done(&conductor->decisions);
    dispatch_room_done(&conductor->room);
    free(conductor->queue);
    free(conductor->stepping);
    sd_event_unref(conductor->loop);
    free(conductor);
}
