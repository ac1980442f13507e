#include "testbed/sim/run.h"

#include "testbed/sim/fluid.h"
#include "testbed/sim/heap.h"
#include "testbed/sim/ranks.h"
#include "testbed/sim/run_log.h"
#include "testbed/sim/submission.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum { REPORT_NS = 100000000 };

struct attempt {
    uint64_t number, job;
    uint32_t id; /* place in run.attempts; handed out again */
    uint32_t host, macroflow;
    uint32_t levels[2]; /* by enum mode */
    int64_t compute_ns;
    uint64_t remote_bytes;
    bool receiving;
    UT_hash_handle hh;
};

struct arrival {
    uint64_t job;
    size_t index;
    UT_hash_handle hh;
};

struct run {
    const struct run_config *config;
    const struct workload_job *jobs;
    size_t n_jobs, arrived, done;
    struct run_result *result;
    struct err *err;
    struct topology topology;
    struct engine *engine;
    struct decisions decisions;
    struct fluid *fluid;
    struct ranks ranks; /* where levels are unlimited */
    int64_t now_ns, report_ns;
    enum mode mode;
    bool reports;
    struct arrival *arrivals; /* by job number; one array for all */
    struct arrival *arrival_room;
    struct attempt *live; /* by number, in order of start */
    struct attempt **attempts;
    size_t n_attempts, attempts_room;
    uint32_t *spare, n_spare;
    struct heap computing; /* attempts by the instant at which they end */
    uint32_t *computing_where;
    struct submission submission;
    struct event *events;
    size_t n_events, events_room;
    int64_t *host_bytes; /* scratch: bytes by source host */
    struct fluid_source *sources;
    uint32_t own_host, n_sources;
    double told;
    double wire_bytes;
    struct run_log log;
};

static int out_of_memory(struct run *r)
{
    return err_set(r->err, ENOMEM, "not enough memory for this simulation");
}

/* ---- events ---- */

static struct event *event_add(struct run *r, enum event_kind kind)
{
    if (r->n_events == r->events_room) {
        size_t room = r->events_room ? 2 * r->events_room : 64;
        struct event *grown = realloc(r->events, room * sizeof(*grown));
        if (!grown)
            return NULL;
        r->events = grown;
        r->events_room = room;
    }
    struct event *e = &r->events[r->n_events++];
    *e = (struct event){.kind = kind};
    return e;
}

static int attempt_event(struct run *r, enum event_kind kind, uint64_t number, uint64_t received)
{
    struct event *e = event_add(r, kind);
    if (!e)
        return out_of_memory(r);
    e->attempt.attempt = number;
    e->attempt.received_bytes = received;
    return 0;
}

static int load_event(struct run *r, uint32_t host, uint32_t per_mille)
{
    struct event *e = event_add(r, EVENT_HOST_LOAD);
    if (!e)
        return out_of_memory(r);
    e->host_load.host = host;
    e->host_load.resource = LOAD_UPLINK;
    e->host_load.permille = per_mille;
    return 0;
}

/* ---- attempts ---- */

static struct attempt *attempt_find(struct run *r, uint64_t number)
{
    struct attempt *a;
    HASH_FIND(hh, r->live, &number, sizeof(number), a);
    return a;
}

static int attempts_room(struct run *r)
{
    size_t room = r->attempts_room ? 2 * r->attempts_room : 64;
    void *grown = realloc(r->attempts, room * sizeof(*r->attempts));
    if (grown)
        r->attempts = grown;
    void *where = realloc(r->computing_where, room * sizeof(*r->computing_where));
    if (where)
        r->computing_where = where;
    void *spare = realloc(r->spare, room * sizeof(*r->spare));
    if (spare)
        r->spare = spare;
    if (!grown || !where || !spare)
        return out_of_memory(r);
    r->attempts_room = room;
    return 0;
}

static struct attempt *attempt_make(struct run *r, const struct decision *d)
{
    if (!r->n_spare && r->n_attempts == r->attempts_room && attempts_room(r))
        return NULL;
    struct attempt *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->number = d->start.attempt;
    a->job = d->start.job;
    a->host = d->start.host;
    a->levels[MODE_SLOT_RICH] = ranks_level(&r->ranks, d->start.coflow_level);
    a->levels[MODE_SLOT_STARVED] = ranks_level(&r->ranks, d->start.macroflow_level);
    a->id = r->n_spare ? r->spare[--r->n_spare] : (uint32_t)r->n_attempts++;
    r->attempts[a->id] = a;
    r->computing_where[a->id] = HEAP_NOWHERE;
    HASH_ADD(hh, r->live, number, sizeof(a->number), a);
    return a->hh.tbl ? a : NULL;
}

static void attempt_free(struct run *r, struct attempt *a)
{
    HASH_DELETE(hh, r->live, a);
    r->attempts[a->id] = NULL;
    r->spare[r->n_spare++] = a->id;
    free(a);
}

static int attempt_compute(struct run *r, struct attempt *a)
{
    double end_ns = (double)(r->now_ns + a->compute_ns);
    return heap_push(&r->computing, r->computing_where, end_ns, a->id) ? out_of_memory(r) : 0;
}

/* ---- what the engine decided ---- */

static void add_input(void *context, const struct engine_input *input)
{
    struct run *r = context;
    if (input->host == r->own_host && r->config->local_free)
        return;
    if (!r->host_bytes[input->host])
        r->sources[r->n_sources++].host = input->host;
    double told = input->block ? 1 : r->told;
    r->host_bytes[input->host] +=
        told == 1 ? (int64_t)input->bytes : (int64_t)ceil((double)input->bytes / told);
}

/* The attempt's bytes by source host: its Macroflow. */
static void gather_sources(struct run *r, struct attempt *a)
{
    struct arrival *arrival;
    HASH_FIND(hh, r->arrivals, &a->job, sizeof(a->job), arrival);
    r->told = r->config->told ? r->config->told[arrival->index] : 1;
    r->own_host = a->host;
    r->n_sources = 0;
    engine_inputs(r->engine, a->number, add_input, r);
    for (uint32_t i = 0; i < r->n_sources; i++) {
        struct fluid_source *source = &r->sources[i];
        source->bytes = r->host_bytes[source->host];
        r->host_bytes[source->host] = 0;
        a->remote_bytes += (uint64_t)source->bytes;
    }
}

static int do_start(struct run *r, const struct decision *d)
{
    struct task_view task;
    struct attempt *a = attempt_make(r, d);
    if (!a)
        return out_of_memory(r);
    if (engine_task(r->engine, d->start.job, d->start.stage, d->start.task, &task))
        return err_set(r->err, EINVAL, "job %" PRIu64 " lost a task that was just started",
                       d->start.job);
    a->compute_ns = (int64_t)task.compute_ns;
    gather_sources(r, a);
    r->wire_bytes += (double)a->remote_bytes;
    r->result->tasks++;
    if (attempt_event(r, EVENT_ATTEMPT_STARTED, a->number, 0))
        return -ENOMEM;
    if (!r->n_sources)
        return attempt_compute(r, a);
    a->receiving = true;
    if (fluid_start(r->fluid, a->host, a->levels[r->mode], r->sources, r->n_sources, a->number,
                    &a->macroflow))
        return out_of_memory(r);
    return 0;
}

static int do_stop(struct run *r, const struct decision *d)
{
    struct attempt *a = attempt_find(r, d->stop.attempt);
    if (!a)
        return 0;
    if (a->receiving && fluid_stop(r->fluid, a->macroflow))
        return out_of_memory(r);
    if (r->computing_where[a->id] != HEAP_NOWHERE)
        heap_take(&r->computing, r->computing_where, a->id);
    attempt_free(r, a);
    return attempt_event(r, EVENT_ATTEMPT_KILLED, d->stop.attempt, 0);
}

static int mark(struct run *r, struct attempt *a)
{
    if (a->receiving && fluid_set_level(r->fluid, a->macroflow, a->levels[r->mode]))
        return out_of_memory(r);
    return 0;
}

static int do_level(struct run *r, const struct decision *d)
{
    struct attempt *a = attempt_find(r, d->level.attempt);
    if (!a)
        return 0;
    a->levels[MODE_SLOT_RICH] = ranks_level(&r->ranks, d->level.coflow_level);
    a->levels[MODE_SLOT_STARVED] = ranks_level(&r->ranks, d->level.macroflow_level);
    return mark(r, a);
}

static int do_mode(struct run *r, const struct decision *d)
{
    r->mode = (enum mode)d->mode.mode;
    for (struct attempt *a = r->live; a; a = a->hh.next)
        if (mark(r, a))
            return -ENOMEM;
    return 0;
}

static int do_job_done(struct run *r, const struct decision *d)
{
    struct arrival *arrival;
    HASH_FIND(hh, r->arrivals, &d->job_done.job, sizeof(uint64_t), arrival);
    int64_t planned_ns = (int64_t)r->jobs[arrival->index].arrival_ns;
    r->result->jct_s[arrival->index] = (double)(d->job_done.finished_ns - planned_ns) * 1e-9;
    r->result->slot_wait_s += (double)d->job_done.slot_wait_ns * 1e-9;
    r->done++;
    return 0;
}

static int do_decision(struct run *r, const struct decision *d)
{
    switch (d->kind) {
    case DECISION_START:
        return do_start(r, d);
    case DECISION_STOP:
        return do_stop(r, d);
    case DECISION_LEVEL:
        return do_level(r, d);
    case DECISION_MODE:
        return do_mode(r, d);
    case DECISION_JOB_DONE:
        return do_job_done(r, d);
    case DECISION_JOB_FAILED:
        return err_set(r->err, EINVAL, "job %" PRIu64 " failed: %s", d->job_failed.job,
                       reason_name(d->reason));
    case DECISION_REJECT:
        return err_set(r->err, EINVAL,
                       "the engine refuses job %" PRIu64 ": %s (%" PRId64 ", %" PRId64 ")",
                       d->reject.request, reason_name(d->reason), d->left, d->right);
    default:
        return 0; /* holds and what only frameworks or agents act on */
    }
}

static int step(struct run *r, const struct event *events, size_t n)
{
    run_log_events(&r->log, r->now_ns, events, n);
    if (engine_step(r->engine, r->now_ns, events, n, &r->decisions))
        return out_of_memory(r);
    run_log_decisions(&r->log, &r->decisions);
    if (events == r->events)
        r->n_events = 0;
    r->result->steps++;
    for (size_t i = 0; i < r->decisions.n; i++) {
        int rc = do_decision(r, &r->decisions.at[i]);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- what happened ---- */

static int take_transfers(struct run *r)
{
    struct fluid_event e;
    while (fluid_poll(r->fluid, &e)) {
        if (e.kind != FLUID_ENDED) {
            if (load_event(r, (uint32_t)e.subject, e.per_mille))
                return -ENOMEM;
            continue;
        }
        struct attempt *a = attempt_find(r, e.subject);
        a->receiving = false;
        if (attempt_event(r, EVENT_ATTEMPT_RECEIVED, a->number, a->remote_bytes) ||
            attempt_compute(r, a))
            return -ENOMEM;
    }
    return 0;
}

static int take_computing(struct run *r)
{
    while (r->computing.n && r->computing.items[0].key <= (double)r->now_ns) {
        struct attempt *a = r->attempts[heap_pop(&r->computing, r->computing_where).id];
        if (attempt_event(r, EVENT_ATTEMPT_DONE, a->number, a->remote_bytes))
            return -ENOMEM;
        attempt_free(r, a);
    }
    return 0;
}

static int take_reports(struct run *r)
{
    if (!r->reports || r->now_ns < r->report_ns)
        return 0;
    r->report_ns = r->now_ns + REPORT_NS;
    for (struct attempt *a = r->live; a; a = a->hh.next)
        if (a->receiving && attempt_event(r, EVENT_ATTEMPT_PROGRESS, a->number,
                                          (uint64_t)fluid_received_bytes(r->fluid, a->macroflow)))
            return -ENOMEM;
    return 0;
}

/* Each arrival is a step of its own: its events borrow from it. */
static int take_arrivals(struct run *r)
{
    for (; r->arrived < r->n_jobs && (int64_t)r->jobs[r->arrived].arrival_ns <= r->now_ns;
         r->arrived++) {
        int rc = submission_make(&r->submission, &r->jobs[r->arrived], r->config->hosts);
        if (!rc && r->config->told)
            rc = submission_tell(&r->submission, r->config->told[r->arrived]);
        if (rc)
            return out_of_memory(r);
        rc = step(r, r->submission.events, r->submission.n);
        submission_done(&r->submission);
        if (rc)
            return rc;
    }
    return 0;
}

static int next_instant(struct run *r, int64_t *ret_ns)
{
    int64_t next_ns = FLUID_NEVER;
    if (fluid_next_ns(r->fluid, &next_ns))
        return out_of_memory(r);
    if (r->computing.n && (int64_t)r->computing.items[0].key < next_ns)
        next_ns = (int64_t)r->computing.items[0].key;
    if (r->arrived < r->n_jobs && (int64_t)r->jobs[r->arrived].arrival_ns < next_ns)
        next_ns = (int64_t)r->jobs[r->arrived].arrival_ns;
    if (engine_deadline_ns(r->engine) < next_ns)
        next_ns = engine_deadline_ns(r->engine);
    if (r->reports && next_ns != FLUID_NEVER && r->report_ns < next_ns && r->live)
        next_ns = r->report_ns;
    *ret_ns = next_ns > r->now_ns && !r->n_events ? next_ns : r->now_ns;
    return 0;
}

static int one_instant(struct run *r)
{
    int64_t next_ns = FLUID_NEVER;
    int rc = next_instant(r, &next_ns);
    if (rc)
        return rc;
    if (next_ns == FLUID_NEVER)
        return err_set(r->err, EINVAL,
                       "%zu of %zu jobs never end: nothing runs and nothing is decided",
                       r->n_jobs - r->done, r->n_jobs);
    r->now_ns = next_ns;
    if (fluid_advance(r->fluid, next_ns))
        return out_of_memory(r);
    if ((rc = take_transfers(r)) || (rc = take_computing(r)) || (rc = take_reports(r)))
        return rc;
    if (r->n_events || engine_deadline_ns(r->engine) <= r->now_ns)
        rc = step(r, r->events, r->n_events);
    if (!rc)
        rc = take_arrivals(r);
    if (r->config->progress)
        r->config->progress(r->config->user, (double)r->done / (double)r->n_jobs);
    return rc;
}

/* ---- beginning and end ---- */

static int join_hosts(struct run *r)
{
    uint64_t vector[ENGINE_RESOURCES] = {[RES_SLOTS] = r->config->slots};
    char names[16];
    for (uint32_t h = 0; h < r->config->hosts; h++) {
        struct event e = {.kind = EVENT_HOST_JOIN};
        snprintf(names, sizeof(names), "h%u", h);
        e.host_join.host = h;
        e.host_join.generation = 1;
        e.host_join.name = names;
        e.host_join.rack = e.host_join.labels = "";
        e.host_join.uplink_bps = e.host_join.downlink_bps = r->config->link_bps;
        e.host_join.units = (struct u64s){vector, ENGINE_RESOURCES};
        int rc = step(r, &e, 1);
        if (rc)
            return rc;
    }
    return 0;
}

/* D-CLAS has a table of its own. */
static bool unlimited(const struct engine_config *c)
{
    return strcmp(c->network, "dclas") != 0 && !c->coflow.levels && !c->macroflow.levels;
}

static uint32_t levels_of(const struct run *r)
{
    const struct engine_config *c = &r->config->engine;
    uint32_t most = c->coflow.levels > c->macroflow.levels ? c->coflow.levels : c->macroflow.levels;
    most = most > c->dclas.levels ? most : c->dclas.levels;
    return most > r->ranks.n ? most : (uint32_t)r->ranks.n;
}

static int check_racks(const struct run_config *c, struct err *err)
{
    return c->racks && c->hosts % c->racks
               ? err_set(err, EINVAL, "%u servers do not divide into %u racks", c->hosts, c->racks)
               : 0;
}

static int check(const struct run_config *config, const struct workload_job *jobs, size_t n,
                 struct err *err)
{
    const struct engine_config *c = &config->engine;
    if (!c->dclas.levels || !c->coflow.levels != !c->macroflow.levels)
        return err_set(err, EINVAL,
                       "levels are unlimited for both, Coflows and Macroflows, or for neither, and "
                       "never for D-CLAS");
    if (check_racks(config, err))
        return -EINVAL;
    for (size_t i = 0; i < n; i++)
        for (uint32_t s = 0; s < jobs[i].n_stages; s++)
            for (uint32_t e = 0; e < jobs[i].stages[s].n_parents; e++)
                if (jobs[i].stages[s].parents[e].pipelined)
                    return err_set(err, EINVAL,
                                   "job %" PRIu64 " has a pipelined edge, which is not simulated",
                                   jobs[i].id);
    return 0;
}

static int remember_arrivals(struct run *r)
{
    r->arrival_room = calloc(r->n_jobs ? r->n_jobs : 1, sizeof(*r->arrival_room));
    for (size_t i = 0; r->arrival_room && i < r->n_jobs; i++) {
        struct arrival *a = &r->arrival_room[i];
        *a = (struct arrival){.job = r->jobs[i].id, .index = i};
        HASH_ADD(hh, r->arrivals, job, sizeof(a->job), a);
        if (!a->hh.tbl)
            return out_of_memory(r);
    }
    return r->arrival_room ? 0 : out_of_memory(r);
}

static int open_run(struct run *r)
{
    const struct run_config *c = r->config;
    int rc = unlimited(&c->engine) ? ranks_make(&r->ranks, r->jobs, r->n_jobs, r->err) : 0;
    if (rc)
        return rc;
    rc = c->racks ? topology_init_leaf_spine(&r->topology, c->racks, c->hosts / c->racks,
                                             (double)c->link_bps / 8, 1, 4, true, r->err)
                  : topology_init_switch(&r->topology, c->hosts, (double)c->link_bps / 8, r->err);
    struct fluid_config network = {.topology = &r->topology,
                                   .levels = levels_of(r),
                                   .local_free = c->local_free,
                                   .hot_per_mille = c->engine.congested_permille,
                                   .cool_per_mille = c->engine.cleared_permille};
    if (!rc)
        rc = fluid_create(&network, &r->fluid, r->err);
    if (!rc)
        rc = engine_create(&c->engine, &r->engine, r->err);
    if (rc)
        return rc;
    r->reports = strcmp(c->engine.network, "dclas") == 0 || strcmp(c->engine.network, "scf") == 0 ||
                 strncmp(c->engine.place, "neat", 4) == 0;
    r->host_bytes = calloc(c->hosts, sizeof(*r->host_bytes));
    r->sources = calloc(c->hosts, sizeof(*r->sources));
    if (!r->host_bytes || !r->sources)
        return out_of_memory(r);
    rc = run_log_begin(&r->log, c->log, r->engine, r->err);
    return rc ? rc : remember_arrivals(r);
}

static void close_run(struct run *r)
{
    struct attempt *a, *next;
    HASH_ITER(hh, r->live, a, next)
    {
        HASH_DELETE(hh, r->live, a);
        free(a);
    }
    HASH_CLEAR(hh, r->arrivals);
    free(r->arrival_room);
    free(r->attempts);
    free(r->computing_where);
    free(r->spare);
    heap_done(&r->computing);
    submission_done(&r->submission);
    free(r->events);
    free(r->host_bytes);
    free(r->sources);
    decisions_done(&r->decisions);
    engine_destroy(r->engine);
    fluid_destroy(r->fluid);
    ranks_done(&r->ranks);
}

static void conclude(struct run *r)
{
    struct engine_counters counters;
    struct run_result *result = r->result;
    double begin_s = r->n_jobs ? (double)r->jobs[0].arrival_ns * 1e-9 : 0;
    engine_counters(r->engine, &counters);
    result->makespan_s = (double)r->now_ns * 1e-9 - begin_s;
    result->slot_wait_s /= result->tasks ? (double)result->tasks : 1;
    result->held_slot_s = (double)counters.held_slot_ns * 1e-9;
    result->mode_switches = counters.mode_switches;
    result->holds = counters.holds;
    double could_bytes =
        (double)r->config->hosts * (double)r->config->link_bps / 8 * result->makespan_s;
    if (result->makespan_s > 0) {
        result->link_use = r->wire_bytes / could_bytes;
        result->starved = (double)counters.starved_ns * 1e-9 / result->makespan_s;
    }
}

int run_simulate(const struct run_config *config, const struct workload_job *jobs, size_t n_jobs,
                 struct run_result *result, struct err *err)
{
    int rc = check(config, jobs, n_jobs, err);
    if (rc)
        return rc;
    struct run r = {.config = config, .jobs = jobs, .n_jobs = n_jobs, .result = result, .err = err};
    double *jct_s = result->jct_s;
    *result = (struct run_result){.jct_s = jct_s};
    rc = open_run(&r);
    if (!rc)
        rc = join_hosts(&r);
    while (!rc && r.done < n_jobs)
        rc = one_instant(&r);
    if (!rc)
        conclude(&r);
    int written = run_log_end(&r.log, rc ? NULL : err);
    rc = rc ? rc : written;
    close_run(&r);
    return rc;
}
