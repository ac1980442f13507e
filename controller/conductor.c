#include "controller/conductor.h"

#include "controller/conductor_log.h"
#include "controller/notice_listener.h"
#include "controller/portions.h"
#include "controller/shares.h"
#include "controller/store/profile_rows.h"
#include "controller/store/split_rows.h"
#include "lib/container_of.h"
#include "lib/grow.h"
#include "lib/log.h"
#include "lib/now.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct queue {
    struct event *at;
    size_t n, size;
};

struct conductor {
    struct conductor_parts parts; /* what others may read of the following, and what they may
                                   * change */
    sd_event *loop;
    sd_event_source *after; /* flushes the recording after each dispatch of the loop */
    struct settings settings;
    struct ledger *ledger;
    struct clients clients;
    struct clock *clock;
    struct timers timers;
    struct timer deadline; /* the engine's */
    struct engine *engine;
    struct history *history;
    struct recording *recording; /* NULL: none */
    struct orphans orphans;
    struct mode_history modes;
    struct host_times times;
    struct conductor_log log;
    struct notice_listener noting;
    struct audience audience;
    struct peers peers;
    /* Facts that wait for the next step; what the engine takes while new ones come. */
    struct queue queue, stepping;
    struct decisions decisions;
    uint64_t requests;
    struct decision rejection; /* of the last request */
    bool rejected, running, broken;
    bool woken;         /* by the engine's deadline: it is stepped, also without a fact */
    bool asking;        /* a client's request may put more rows: they are committed together */
    bool patient;       /* nobody awaits these rows */
    bool stuck;         /* the log says that the store is not written */
    uint64_t handed;    /* the store's ticket, as last logged */
    uint64_t most_held; /* counted bytes, since memory was given back */
    struct portions *tidying;
    const char *asker; /* the requester of what is being stepped */
    struct charging charging;
};

static void conductor_break(struct conductor *conductor, const char *what)
{
    log_error(LOG_FAULT_US, "%s: the controller cannot go on", what);
    conductor->broken = true;
    sd_event_exit(conductor->loop, EXIT_FAILURE);
}

static void on_event(void *user, const struct event *event, const char *words)
{
    struct conductor *conductor = user;
    struct queue *queue = &conductor->queue;
    const struct fact_sources sources = {
        .engine = conductor->engine,
        .frameworks = conductor->parts.frameworks,
        .now_ns = clock_now_ns(conductor->clock),
        .before = queue->n ? &queue->at[queue->n - 1] : NULL,
        .words = words,
    };
    audience_event(&conductor->audience, &sources, event);
    if (!array_grow(queue->at, queue->n, queue->size, 64)) {
        conductor_break(conductor, "out of memory");
        return;
    }
    queue->at[queue->n++] = *event;
}

static bool on_asked(void *user, const char *name, const duopoly_AskedPart *part)
{
    const struct clients *clients = &((const struct conductor *)user)->clients;
    return clients->asked && clients->asked(clients->user, name, part);
}

static void job_tell(const struct conductor *conductor, const struct decision *decision)
{
    const char *asker = *conductor->asker ? conductor->asker : "its application";
    struct job_fact fact;
    job_fact_of(conductor->history, conductor->engine, decision, asker, &fact);
    audience_job_over(&conductor->audience, &fact);
}

static void mode_note(struct conductor *conductor, int64_t at_ns, const struct decision *decision)
{
    struct mode_change change = {.sequence = decision->mode.sequence,
                                 .mode = decision->mode.mode,
                                 .at_ns = at_ns,
                                 .wall_ns = (int64_t)now_ns(CLOCK_REALTIME),
                                 .ready = decision->left,
                                 .free = decision->right};
    wire_copy(change.rule, sizeof(change.rule), engine_policy(conductor->engine, "mode"));
    mode_history_add(&conductor->modes, &change);
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
    case DECISION_MODE:
        mode_note(conductor, now_ns, decision);
        /* fallthrough */
    default:
        peers_decision(&conductor->peers, now_ns, decision);
    }
}

static int engine_run(struct conductor *conductor, int64_t at_ns, const struct queue *taken)
{
    const uint64_t began_ns = now_ns(CLOCK_MONOTONIC);
    int r = engine_step(conductor->engine, at_ns, taken->at, taken->n, &conductor->decisions);
    histogram_add(&conductor->parts.steps, (int64_t)(now_ns(CLOCK_MONOTONIC) - began_ns));
    return r;
}

static void step(struct conductor *conductor)
{
    charging_step(&conductor->charging, conductor->woken);
    int64_t now_ns = clock_now_ns(conductor->clock);
    const struct queue taken = conductor->queue;
    conductor->queue = conductor->stepping;
    conductor->queue.n = 0;
    conductor->stepping = taken;
    shares_pass(conductor->parts.shares, conductor->engine, now_ns);
    if (engine_run(conductor, now_ns, &taken) < 0) {
        conductor_break(conductor, "out of memory");
        return;
    }
    const struct step stepped = {now_ns, taken.at, taken.n, &conductor->decisions};
    conductor->parts.version++;
    audience_stepped(&conductor->audience, &stepped);
    if (ledger_failed(conductor->ledger)) {
        conductor_break(conductor, "out of memory");
        return;
    }
    /* A start keeps its agent busy for a millisecond, and a mode change should reach all hosts
     * together: mode decisions are sent first. Nothing depends on the order. */
    for (int modes = 1; modes >= 0; modes--)
        for (size_t i = 0; i < conductor->decisions.n; i++)
            if ((conductor->decisions.at[i].kind == DECISION_MODE) == modes)
                decision_take(conductor, now_ns, &conductor->decisions.at[i]);
    charging_stepped(&conductor->charging, now_ns, taken.n + conductor->decisions.n);
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

/* Hands the rows to the store; returns the ticket of everything handed over so far. */
static uint64_t commit(struct conductor *conductor)
{
    uint64_t ticket = 0;
    if (ledger_commit(conductor->ledger, conductor->parts.agents, !conductor->patient, &ticket) < 0)
        conductor_break(conductor, "out of memory");
    if (ticket != conductor->handed)
        log_debug("store: everything up to ticket %" PRIu64 " is handed over", ticket);
    conductor->handed = ticket;
    return ticket;
}

void conductor_run(struct conductor *conductor)
{
    if (conductor->running)
        return;
    conductor->running = true;
    do {
        for (; (conductor->woken || conductor->queue.n) && !conductor->broken;
             conductor->woken = false)
            step(conductor);
        if (conductor->asking)
            break;
        agents_levels_flush(conductor->parts.agents, clock_now_ns(conductor->clock));
        agents_settle(conductor->parts.agents, commit(conductor));
        if (agents_wait(conductor->parts.agents))
            store_await(conductor->parts.store);
        frameworks_settle(conductor->parts.frameworks, clock_now_ns(conductor->clock));
        /* A message that could not be sent ended a session. */
    } while (conductor->queue.n && !conductor->broken);
    conductor->running = false;
    rearm(conductor);
}

uint64_t conductor_commit(struct conductor *conductor)
{
    conductor->asking = false;
    conductor_run(conductor);
    return commit(conductor);
}

struct charged_work conductor_begin_work(const struct conductor *conductor)
{
    return charging_begin(&conductor->charging);
}

int64_t conductor_end_work(struct conductor *conductor, const struct charged_work *work)
{
    return charging_end(&conductor->charging, work);
}

struct charged_work conductor_watch(const struct conductor *conductor)
{
    return charging_watch(&conductor->charging);
}

int64_t conductor_watched(struct conductor *conductor, const struct charged_work *work)
{
    return charging_watched(&conductor->charging, work);
}

void conductor_charge(struct conductor *conductor, const struct charged_work *work,
                      uint64_t application)
{
    const int64_t spent_ns = conductor_end_work(conductor, work);
    frameworks_spent(conductor->parts.frameworks, clock_now_ns(conductor->clock), application,
                     spent_ns);
    if (conductor->queue.n)
        conductor_commit(conductor);
}

static void on_work(void *user, uint64_t application, void (*work)(void *of, int64_t now_ns),
                    void *of, int64_t now_ns)
{
    struct conductor *conductor = user;
    const struct charged_work charged = conductor_begin_work(conductor);
    work(of, now_ns);
    conductor_commit(conductor);
    conductor_charge(conductor, &charged, application);
}

void conductor_commit_later(struct conductor *conductor)
{
    conductor->patient = true;
    conductor_commit(conductor);
    conductor->patient = false;
}

static void on_stored(void *user)
{
    struct conductor *conductor = user;
    struct err err;
    int r = store_refusal(conductor->parts.store, &err);
    log_debug("store: everything up to ticket %" PRIu64 " is on the disk%s%s",
              store_committed(conductor->parts.store), r < 0 ? "; requests are refused: " : "",
              r < 0 ? err.text : "");
    if (r == 0)
        r = epoch_keep(conductor->parts.epoch, &err);
    agents_committed(conductor->parts.agents, store_committed(conductor->parts.store));
    conductor_commit(conductor);
    if (r < 0 && !conductor->stuck)
        log_error(LOG_FAULT_US, "%s", err.text);
    else if (r == 0 && conductor->stuck)
        log_note("the store is written again: requests are taken");
    conductor->stuck = r < 0;
    conductor->clients.stored(conductor->clients.user);
}

int conductor_request(struct conductor *conductor, struct event *request,
                      struct decision *ret_rejection)
{
    return conductor_requests(conductor, request, 1, ret_rejection);
}

static int judge(const struct conductor *conductor, const struct event *requests, size_t n,
                 struct decision *ret_rejection)
{
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = engine_judge(conductor->engine, &requests[i], ret_rejection);
    return r;
}

void conductor_judge_only(struct conductor *conductor, bool only)
{
    conductor->parts.judging = only;
}

int conductor_set(struct conductor *conductor, const char *kind, const char *name,
                  const char *value)
{
    return conductor->parts.judging ? 0 : store_set(conductor->parts.store, kind, name, value);
}

void conductor_try_job(struct conductor *conductor)
{
    ledger_pass_over(conductor->ledger);
}

int conductor_requests(struct conductor *conductor, struct event *requests, size_t n,
                       struct decision *ret_rejection)
{
    if (conductor->parts.judging)
        return judge(conductor, requests, n, ret_rejection);
    conductor->rejected = false;
    conductor->asking = true;
    for (size_t i = 0; i < n; i++) {
        requests[i].request = ++conductor->requests;
        on_event(conductor, &requests[i], "");
    }
    conductor_run(conductor);
    if (!conductor->rejected)
        return 0;
    *ret_rejection = conductor->rejection;
    return -EPERM;
}

void conductor_submitter(struct conductor *conductor, uint64_t submitter)
{
    struct event event = {.kind = EVENT_JOB_SUBMITTER};
    event.job_submitter.submitter = submitter;
    on_event(conductor, &event, "");
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
    charging_timers_over(&conductor->charging);
    conductor->woken = true;
    conductor_commit(conductor);
    charging_timers(&conductor->charging);
}

static void on_due(void *user, int64_t now_ns)
{
    struct conductor *conductor = user;
    charging_timers(&conductor->charging);
    timers_run(&conductor->timers, now_ns);
    charging_timers_over(&conductor->charging);
    conductor_commit(conductor);
}

static bool on_tidying(void *user)
{
    struct conductor *conductor = user;
    const uint64_t application = engine_tidies(conductor->engine);
    if (!application)
        return engine_tidy(conductor->engine);
    const struct charged_work work = conductor_begin_work(conductor);
    const bool more = engine_tidy(conductor->engine);
    conductor_charge(conductor, &work, application);
    return more;
}

/* Who is noted for a part of this turn is charged for it. */
static void noted_charge(struct conductor *conductor, int64_t spent_ns)
{
    const struct clients *clients = &conductor->clients;
    const struct loop_spent spent = {clock_now_ns(conductor->clock), spent_ns,
                                     conductor->charging.noted_ns};
    if (!spent.noted_ns)
        return;
    conductor->charging.noted_ns = 0;
    if (clients->charged)
        clients->charged(clients->user, &spent);
    if (agents_charge(conductor->parts.agents, &spent))
        conductor_commit(conductor);
}

static int on_after(sd_event_source *source, void *user)
{
    struct conductor *conductor = user;
    struct err err;
    (void)source;
    const int64_t began_ns = conductor->parts.turns.ended_ns;
    cost_turn_over(&conductor->parts.turns);
    noted_charge(conductor, conductor->parts.turns.ended_ns - began_ns);
    conductor->parts.turns.returns +=
        cost_follow_memory(&conductor->most_held, engine_counted_bytes(conductor->engine) +
                                                      engine_removed_bytes(conductor->engine));
    if (on_tidying(conductor))
        portions_begin(conductor->tidying);
    if (conductor->asking)
        conductor_commit(conductor);
    int r = conductor->recording ? recording_flush(conductor->recording, &err) : 0;
    if (r < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
    else if (r > 0)
        log_note("%s", err.text);
    charging_turn_over(&conductor->charging, conductor->parts.turns.ended_ns);
    return 0;
}

void conductor_take_settings(struct conductor *conductor, const struct settings *settings)
{
    conductor->settings = *settings;
    peers_take_settings(&conductor->peers);
    store_keep(conductor->parts.store, settings->store.keep_ns);
    if (conductor->recording)
        recording_bound(conductor->recording, (uint64_t)settings->recording.max_bytes);
}

int conductor_forget_host(struct conductor *conductor, const char *name)
{
    if (conductor->parts.judging)
        return agents_may_forget(conductor->parts.agents, name);
    int r = peers_forget(&conductor->peers, name);
    conductor_run(conductor);
    return r;
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

static void audience_gather(struct conductor *conductor)
{
    conductor->orphans.engine = conductor->log.engine = conductor->noting.engine =
        conductor->times.engine = conductor->engine;
    conductor->noting.notices = conductor->parts.notices;
    void **users = conductor->audience.users;
    users[LISTENER_RECORDING] = conductor->recording;
    users[LISTENER_LEDGER] = conductor->ledger;
    users[LISTENER_HISTORY] = conductor->history;
    users[LISTENER_ORPHANS] = &conductor->orphans;
    users[LISTENER_HOST_TIMES] = &conductor->times;
    users[LISTENER_LOG] = &conductor->log;
    users[LISTENER_NOTICES] = &conductor->noting;
    users[LISTENER_CLIENTS] = &conductor->clients;
}

static int peers_begin(struct conductor *conductor, const struct recovered *recovered,
                       struct err *err)
{
    struct conductor_parts *parts = &conductor->parts;
    struct peers *peers = &conductor->peers;
    parts->settings = &conductor->settings;
    parts->clock = conductor->clock;
    parts->engine = conductor->engine;
    parts->history = conductor->history;
    parts->recording = conductor->recording;
    parts->orphans = &conductor->orphans;
    parts->modes = &conductor->modes;
    parts->times = &conductor->times;
    peers->ledger = conductor->ledger;
    peers->event = on_event;
    peers->asked = on_asked;
    peers->work = on_work;
    peers->user = conductor;
    int r = peers_open(peers, recovered, &conductor->timers, err);
    conductor->log.frameworks = conductor->noting.frameworks = parts->frameworks;
    conductor->noting.agents = parts->agents;
    conductor->charging.frameworks = parts->frameworks;
    conductor->charging.engine = conductor->engine;
    return r;
}

/* Restores engine and history from the store; then the store is written. */
static int recover(struct conductor *conductor, bool scripted, struct recovered *ret_recovered,
                   struct err *err)
{
    struct engine_config config;
    int64_t now_ns = conductor->parts.started_ns;
    int64_t offset_ns = recovery_offset(conductor->parts.store, scripted, now_ns);
    conductor->parts.wall_offset_ns = offset_ns;
    settings_engine(&conductor->settings, epoch_number(conductor->parts.epoch), &config);
    if (!(conductor->history = history_create(config.finished_max)))
        return err_sys(err, ENOMEM, "the history of jobs");
    if (!(conductor->parts.shares = shares_create(now_ns)))
        return err_sys(err, ENOMEM, "the history of shares");
    if (!(conductor->parts.learnt = learnt_create()))
        return err_sys(err, ENOMEM, "what is learnt of tasks");
    if (notices_create(notices_rooms, &conductor->parts.notices) < 0)
        return err_sys(err, ENOMEM, "what happens of late");
    int r = recovery_run(conductor->parts.store, &config, now_ns, offset_ns, conductor->history,
                         ret_recovered, err);
    if (r < 0)
        return r;
    conductor->engine = ret_recovered->engine;
    if ((r = profile_rows_read(conductor->parts.store, conductor->parts.learnt, err)) < 0 ||
        (r = split_rows_read(conductor->parts.store, conductor->history, offset_ns, err)) < 0)
        return r;
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
    audience_gather(conductor);
    if ((r = peers_begin(conductor, &recovered, err)) < 0)
        goto end;
    if ((r = sd_event_add_post(conductor->loop, &conductor->after, on_after, conductor)) < 0)
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
    conductor->parts = (struct conductor_parts){
        .epoch = epoch, .store = store, .configuration = hooks->configuration};
    conductor->clients = hooks->clients;
    conductor->peers.hooks = hooks->peers;
    conductor->peers.parts = &conductor->parts;
    conductor->deadline.fire = on_deadline;
    timers_init(&conductor->timers);
    conductor->parts.timers = &conductor->timers;
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
    peers_close(&conductor->peers);
    history_destroy(conductor->history);
    shares_destroy(conductor->parts.shares);
    learnt_destroy(conductor->parts.learnt);
    notices_destroy(conductor->parts.notices);
    host_times_done(&conductor->times);
    if (conductor->after) {
        uint64_t ticket;
        ledger_rest(conductor->ledger);
        store_commit(conductor->parts.store, true, &ticket);
    }
    ledger_destroy(conductor->ledger);
    recording_close(conductor->recording);
    engine_destroy(conductor->engine);
    clock_close(conductor->clock);
    decisions_done(&conductor->decisions);
    free(conductor->queue.at);
    free(conductor->stepping.at);
    sd_event_unref(conductor->loop);
    free(conductor);
}
