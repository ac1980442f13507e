/* The clock of a run: from one instant at which something happens to the next. */
#include "testbed/sim/cluster/own_links.h"
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_FAULTS_MAX = 1000000 };

/* Of each host, on average, before the next job ends; WHY 1000: what fails so often for a single job
 * is no cluster, and with a few thousand hosts even that takes minutes to simulate. */
enum { FAILURES_PER_JOB_MAX = 1000 };

/* Networks compute instants as doubles, which beyond this skip some ns: an end could then never be
 * reached. */
#define LATEST_NS (INT64_C(1) << 53)

/* ---- what happened ---- */

static int report_load(struct run *r, uint32_t host, uint32_t per_mille)
{
    struct event e = {.kind = EVENT_HOST_LOAD};
    if (r->hosts && r->hosts[host].down)
        return 0;
    e.host_load.host = host;
    e.host_load.resource = LOAD_UPLINK;
    e.host_load.permille = per_mille;
    return run_report(r, &e);
}

static int take_transfers(struct run *r)
{
    struct fluid_event e;
    int rc = 0;
    while (!rc && fluid_poll(r->fluid, &e))
        rc = e.kind == FLUID_ENDED ? run_attempt_transfer_over(r, e.subject)
                                   : report_load(r, (uint32_t)e.subject, e.per_mille);
    return rc;
}

static int take_computing(struct run *r)
{
    while (r->computing.n && r->computing.items[0].key <= (double)r->now_ns) {
        struct attempt *a = r->attempts[heap_pop(&r->computing, r->computing_where).id];
        run_watch(r, RUN_DONE, a, a->host);
        if (run_report_attempt(r, EVENT_ATTEMPT_DONE, a->number, (uint64_t)a->remote_bytes) ||
            run_attempt_drop(r, a))
            return -ENOMEM;
    }
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
            return run_out_of_memory(r);
        rc = run_step(r, r->submission.events, r->submission.n);
        submission_done(&r->submission);
        if (rc)
            return rc;
    }
    return 0;
}

static void sooner(int64_t *next_ns, int64_t than_ns)
{
    if (than_ns < *next_ns)
        *next_ns = than_ns;
}

/* Failures go on for ever: they are waited for only while something else is to come, or a host to
 * come back. */
static void wait_for_faults(struct run *r, int64_t *next_ns)
{
    if (!r->hosts)
        return;
    if (*next_ns != FLUID_NEVER)
        r->idle_faults = 0;
    else if (!hosts_any_down(r) || ++r->idle_faults > IDLE_FAULTS_MAX)
        return;
    sooner(next_ns, faults_next_ns(&r->faults));
}

static int next_instant(struct run *r, int64_t *ret_ns)
{
    int64_t next_ns = FLUID_NEVER;
    if (fluid_next_ns(r->fluid, &next_ns))
        return run_out_of_memory(r);
    if (r->computing.n)
        sooner(&next_ns, (int64_t)r->computing.items[0].key);
    if (r->arrived < r->n_jobs)
        sooner(&next_ns, (int64_t)r->jobs[r->arrived].arrival_ns);
    sooner(&next_ns, engine_deadline_ns(r->engine));
    sooner(&next_ns, delay_line_next_ns(&r->told));
    sooner(&next_ns, delay_line_next_ns(&r->orders));
    sooner(&next_ns, hosts_timers_next_ns(r));
    sooner(&next_ns, copies_next_ns(r));
    wait_for_faults(r, &next_ns);
    if (r->reports.wanted && next_ns != FLUID_NEVER && r->live)
        sooner(&next_ns, r->reports.next_ns);
    *ret_ns = next_ns > r->now_ns && !r->n_events ? next_ns : r->now_ns;
    return 0;
}

static int happen(struct run *r)
{
    run_attempts_note_overlap(r);
    int rc = take_transfers(r);
    rc = rc ? rc : take_computing(r);
    rc = rc ? rc : hosts_take(r);
    rc = rc ? rc : reports_take(r);
    return rc ? rc : run_take_delayed(r);
}

/* Where hosts fail sooner than a task ends, jobs never do. */
static bool only_fails(const struct run *r)
{
    return r->result->host_failures - r->failures_at_end >
           (uint64_t)FAILURES_PER_JOB_MAX * r->config->hosts;
}

static int one_instant(struct run *r)
{
    int64_t next_ns = FLUID_NEVER;
    int rc = next_instant(r, &next_ns);
    if (rc)
        return rc;
    if (only_fails(r))
        return err_set(r->err, EINVAL,
                       "%zu of %zu jobs do not end: after %.0f s hosts have failed %d times each "
                       "since the last one did; let them fail less often (--failures)",
                       r->n_jobs - r->done, r->n_jobs, (double)r->now_ns * 1e-9,
                       FAILURES_PER_JOB_MAX);
    if (next_ns == FLUID_NEVER)
        return err_set(r->err, EINVAL,
                       "%zu of %zu jobs never end: nothing runs and nothing is decided",
                       r->n_jobs - r->done, r->n_jobs);
    if (next_ns > LATEST_NS)
        return err_set(r->err, EINVAL,
                       "%zu of %zu jobs have not ended after 104 days, the most a run can take: "
                       "shorten the workload",
                       r->n_jobs - r->done, r->n_jobs);
    r->now_ns = next_ns;
    if (fluid_advance(r->fluid, next_ns))
        return run_out_of_memory(r);
    rc = happen(r);
    if (!rc && (r->n_events || engine_deadline_ns(r->engine) <= r->now_ns))
        rc = run_step(r, r->events, r->n_events);
    rc = rc ? rc : take_arrivals(r);
    rc = rc ? rc : copies_take(r);
    if (r->config->progress)
        r->config->progress(r->config->user, (double)r->done / (double)r->n_jobs);
    return rc;
}

/* ---- beginning and end ---- */

static int join_hosts(struct run *r)
{
    char names[16];
    for (uint32_t h = 0; h < r->config->hosts; h++) {
        struct event e = {.kind = EVENT_HOST_JOIN};
        snprintf(names, sizeof(names), "h%u", h);
        e.host_join.host = h;
        e.host_join.generation = 1;
        e.host_join.name = names;
        e.host_join.rack = e.host_join.labels = "";
        hosts_describe(r, &e);
        e.host_join.units = (struct u64s){r->vector, ENGINE_RESOURCES};
        int rc = run_step(r, &e, 1);
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

static int check(const struct run_config *config, struct err *err)
{
    const struct engine_config *c = &config->engine;
    if (!c->dclas.levels || !c->coflow.levels != !c->macroflow.levels)
        return err_set(err, EINVAL,
                       "levels are unlimited for both, Coflows and Macroflows, or for neither, and "
                       "never for D-CLAS");
    if (config->report_delay_ns < 0 || config->decision_delay_ns < 0)
        return err_set(err, EINVAL, "delays are not negative");
    return check_racks(config, err);
}

static bool any_pipelined(const struct workload_job *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t s = 0; s < jobs[i].n_stages; s++)
            for (uint32_t e = 0; e < jobs[i].stages[s].n_parents; e++)
                if (jobs[i].stages[s].parents[e].pipelined)
                    return true;
    return false;
}

static int remember_arrivals(struct run *r)
{
    r->arrival_room = calloc(r->n_jobs ? r->n_jobs : 1, sizeof(*r->arrival_room));
    for (size_t i = 0; r->arrival_room && i < r->n_jobs; i++) {
        struct arrival *a = &r->arrival_room[i];
        *a = (struct arrival){.job = r->jobs[i].id, .index = i};
        HASH_ADD(hh, r->arrivals, job, sizeof(a->job), a);
        if (!a->hh.tbl)
            return run_out_of_memory(r);
    }
    return r->arrival_room ? 0 : run_out_of_memory(r);
}

static int open_coflows(struct run *r)
{
    size_t n = 0;
    r->first_coflow = calloc(r->n_jobs ? r->n_jobs : 1, sizeof(*r->first_coflow));
    for (size_t i = 0; r->first_coflow && i < r->n_jobs; i++) {
        r->first_coflow[i] = n;
        n += r->jobs[i].n_stages;
    }
    r->coflows = calloc(n ? n : 1, sizeof(*r->coflows));
    r->coflow_s = calloc(n ? n : 1, sizeof(*r->coflow_s));
    return r->first_coflow && r->coflows && r->coflow_s ? reports_open(r, n) : run_out_of_memory(r);
}

static int open_topology(struct run *r)
{
    const struct run_config *c = r->config;
    double link_bytes_s = (double)c->link_bps / 8;
    int rc = c->racks ? topology_init_leaf_spine(&r->topology, c->racks, c->hosts / c->racks,
                                                 link_bytes_s, c->spines ? c->spines : 1,
                                                 c->oversubscription, !c->spines, r->err)
                      : topology_init_switch(&r->topology, c->hosts, link_bytes_s, r->err);
    return rc || !c->own_links ? rc : own_links_read(&r->topology, c->own_links, r->err);
}

static int open_run(struct run *r)
{
    const struct run_config *c = r->config;
    LIST_INIT(&r->pipelined);
    r->told.item_bytes = sizeof(struct event);
    r->orders.item_bytes = sizeof(struct order);
    r->wanted.item_bytes = sizeof(uint64_t);
    r->pipelines = any_pipelined(r->jobs, r->n_jobs);
    int rc = unlimited(&c->engine) ? ranks_make(&r->ranks, r->jobs, r->n_jobs, r->err) : 0;
    rc = rc ? rc : open_topology(r);
    rc = rc ? rc : hosts_open(r);
    rc = rc ? rc : open_coflows(r);
    if (rc)
        return rc;
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
    r->host_bytes = calloc(c->hosts, sizeof(*r->host_bytes));
    r->sources = calloc(c->hosts, sizeof(*r->sources));
    if (!r->host_bytes || !r->sources)
        return run_out_of_memory(r);
    rc = run_log_begin(&r->log, c->log, r->engine, r->err);
    return rc ? rc : remember_arrivals(r);
}

static void close_run(struct run *r)
{
    run_attempts_done(r);
    HASH_CLEAR(hh, r->arrivals);
    free(r->arrival_room);
    heap_done(&r->computing);
    heap_done(&r->suspects);
    reports_close(r);
    delay_line_done(&r->told);
    delay_line_done(&r->orders);
    delay_line_done(&r->wanted);
    hosts_close(r);
    free(r->outputs);
    free(r->coflows);
    free(r->coflow_s);
    free(r->first_coflow);
    submission_done(&r->submission);
    free(r->events);
    free(r->host_bytes);
    free(r->sources);
    decisions_done(&r->decisions);
    engine_destroy(r->engine);
    fluid_destroy(r->fluid);
    topology_done(&r->topology);
    ranks_done(&r->ranks);
}

static struct stats coflow_times(struct run *r)
{
    size_t stages = 0, n = 0;
    for (size_t i = 0; i < r->n_jobs; i++)
        stages += r->jobs[i].n_stages;
    for (size_t i = 0; i < stages; i++) {
        const struct run_coflow c = r->coflows[i];
        if (c.began && c.last_ns)
            r->coflow_s[n++] = (double)(c.last_ns - c.first_ns) * 1e-9;
    }
    return stats_of(r->coflow_s, n);
}

static void conclude(struct run *r)
{
    struct engine_counters counters;
    struct run_result *result = r->result;
    double begin_s = r->n_jobs ? (double)r->jobs[0].arrival_ns * 1e-9 : 0;
    engine_counters(r->engine, &counters);
    result->makespan_s = (double)(r->now_ns - r->config->report_delay_ns) * 1e-9 - begin_s;
    for (size_t i = 0; i < r->n_jobs; i++)
        for (uint32_t s = 0; s < r->jobs[i].n_stages; s++)
            result->tasks += r->jobs[i].stages[s].tasks;
    result->slot_wait_s /= result->tasks ? (double)result->tasks : 1;
    result->held_slot_s = (double)counters.held_slot_ns * 1e-9;
    result->mode_switches = counters.mode_switches;
    result->holds = counters.holds;
    result->cct_s = coflow_times(r);
    double could_bytes = 0;
    for (uint32_t h = 0; h < r->config->hosts; h++)
        could_bytes += topology_link_bytes_s(&r->topology, h) * result->makespan_s;
    if (result->makespan_s > 0) {
        result->link_use = r->wire_bytes / could_bytes;
        result->starved = (double)counters.starved_ns * 1e-9 / result->makespan_s;
    }
}

int run_simulate(const struct run_config *config, const struct workload_job *jobs, size_t n_jobs,
                 struct run_result *result, struct err *err)
{
    int rc = check(config, err);
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
