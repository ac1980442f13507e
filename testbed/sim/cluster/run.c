/* The clock of a run: moves from one instant with events to the next. */
#include "testbed/sim/cluster/own_links.h"
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_FAULTS_MAX = 1000000 };

/* Of each host, on average, before the next job ends. WHY 1000: a cluster that fails so often for a
 * single job is none, and with a few thousand hosts even that takes minutes to simulate. */
enum { FAILURES_PER_JOB_MAX = 1000 };

/* Networks compute instants as doubles, which beyond this skip some ns, so that an end might never
 * be reached. */
#define LATEST_NS (INT64_C(1) << 53)

/* A resumed run ends when no attempt has begun or ended for so many instants. WHY: jobs that can
 * not end are a result there, and an engine may want to be woken for ever. */
enum { STILL_MAX = 1000000 };

/* `per_mille` of our part of the link, reported as per mille of the whole link. */
static int report_load(struct run *run, uint32_t host, uint32_t per_mille)
{
    bool outside = host >= run->config->hosts;
    if (outside || (run->hosts && run->hosts[host].down))
        return 0;
    double share = run_foreign_share(run->config, host);
    struct event e =
        hosts_load(host, LOAD_UPLINK, (uint32_t)lround(per_mille * (1 - share) + 1000 * share));
    return run_report(run, &e);
}

static int take_transfers(struct run *run)
{
    struct fluid_event e;
    int r = 0;
    while (!r && fluid_poll(run->fluid, &e))
        r = e.kind == FLUID_ENDED ? run_attempt_transfer_over(run, e.subject)
                                  : report_load(run, (uint32_t)e.subject, e.per_mille);
    return r;
}

static int take_computing(struct run *run)
{
    while (run->computing.n && run->computing.items[0].key <= (double)run->now_ns) {
        struct run_attempt *a = run->attempts[heap_pop(&run->computing, run->computing_where).id];
        int turn = disks_next_turn(run, a);
        if (turn < 0)
            return turn;
        if (turn)
            continue;
        run_notify(run, RUN_DONE, a, a->host);
        if (framework_tell_sizes(run, a) ||
            run_report_attempt(run, EVENT_ATTEMPT_DONE, a->number, (uint64_t)a->remote_bytes) ||
            framework_task_done(run, a) || run_attempt_drop(run, a))
            return -ENOMEM;
    }
    return 0;
}

static int tell_arrival(struct run *run)
{
    struct submission *s = &run->submission;
    if (!run->config->framework || !run->config->framework->late)
        return run_step(run, s->events, s->n);
    size_t first = submission_tasks_last(s);
    return framework_tell_arrival(run, s->events, s->n, first);
}

/* Each arrival is a step of its own: its events borrow from it. */
static int take_arrivals(struct run *run)
{
    for (; run->arrived < run->n_jobs && (int64_t)run->jobs[run->arrived].arrival_ns <= run->now_ns;
         run->arrived++) {
        int r = submission_make(&run->submission, &run->jobs[run->arrived], run->config->hosts);
        if (!r && run->config->told)
            r = submission_tell(&run->submission, run->config->told[run->arrived]);
        if (!r && run->config->profile_error > 0)
            r = submission_misjudge(&run->submission, run->config->profile_error,
                                    run->config->engine.seed);
        if (!r && run->config->framework)
            r = framework_arrive(run, run->arrived, &run->submission);
        if (r)
            return run_out_of_memory(run);
        r = tell_arrival(run);
        submission_done(&run->submission);
        if (r)
            return r;
    }
    return 0;
}

static int64_t next_change_ns(const struct run *run)
{
    const struct run_config *c = run->config;
    return run->changed < c->n_changes ? c->changes[run->changed].at_ns : FLUID_NEVER;
}

static int take_changes(struct run *run)
{
    int r = 0;
    for (; !r && next_change_ns(run) <= run->now_ns; run->changed++) {
        const struct engine_value *said = &run->config->changes[run->changed].said;
        struct event e = {.kind = EVENT_POLICY_PARAMETER};
        e.policy_parameter.word = said->word;
        e.policy_parameter.value = said->value;
        r = run_tell(run, &e);
    }
    return r;
}

static void sooner(int64_t *next_ns, int64_t than_ns)
{
    if (than_ns < *next_ns)
        *next_ns = than_ns;
}

/* WHY: failures never end, so the run waits for them only while other events are to come, or a host
 * is to return. */
static void wait_for_faults(struct run *run, int64_t *next_ns)
{
    if (!run->hosts)
        return;
    if (*next_ns != FLUID_NEVER)
        run->idle_faults = 0;
    else if (!hosts_any_down(run) || ++run->idle_faults > IDLE_FAULTS_MAX)
        return;
    sooner(next_ns, faults_next_ns(&run->faults));
}

static int next_instant(struct run *run, int64_t *ret_ns)
{
    int64_t next_ns = FLUID_NEVER;
    if (fluid_next_ns(run->fluid, &next_ns))
        return run_out_of_memory(run);
    if (run->computing.n)
        sooner(&next_ns, (int64_t)run->computing.items[0].key);
    if (run->arrived < run->n_jobs)
        sooner(&next_ns, (int64_t)run->jobs[run->arrived].arrival_ns);
    sooner(&next_ns, run_deadline_ns(run));
    sooner(&next_ns, delay_line_next_ns(&run->told));
    sooner(&next_ns, delay_line_next_ns(&run->orders));
    sooner(&next_ns, hosts_timers_next_ns(run));
    sooner(&next_ns, copies_next_ns(run));
    sooner(&next_ns, framework_next_ns(run));
    sooner(&next_ns, disks_next_ns(run));
    sooner(&next_ns, next_change_ns(run));
    wait_for_faults(run, &next_ns);
    if (run->reports.wanted && next_ns != FLUID_NEVER && run->live)
        sooner(&next_ns, run->reports.next_ns);
    *ret_ns = next_ns > run->now_ns && !run->n_events ? next_ns : run->now_ns;
    return 0;
}

static int happen(struct run *run)
{
    run_attempts_note_overlap(run);
    int r = take_transfers(run);
    r = r ? r : disks_take(run);
    r = r ? r : take_computing(run);
    r = r ? r : hosts_take(run);
    r = r ? r : framework_take(run);
    r = r ? r : reports_take(run);
    r = r ? r : disks_report(run);
    r = r ? r : take_changes(run);
    return r ? r : run_take_delayed(run);
}

/* Hosts fail before any task ends, so no job ever ends. */
static bool only_fails(const struct run *run)
{
    return run->result->host_failures - run->failures_at_end >
           (uint64_t)FAILURES_PER_JOB_MAX * run->config->hosts;
}

static int check_instant(const struct run *run, int64_t next_ns)
{
    if (only_fails(run))
        return err_set(run->err, EINVAL,
                       "%zu of %zu jobs do not end: after %.0f s hosts have failed %d times each "
                       "since the last one did; let them fail less often (--failures)",
                       run->n_jobs - run->done, run->n_jobs, (double)run->now_ns * 1e-9,
                       FAILURES_PER_JOB_MAX);
    if (next_ns == FLUID_NEVER)
        return err_set(run->err, EINVAL,
                       "%zu of %zu jobs never end: nothing runs and nothing is decided",
                       run->n_jobs - run->done, run->n_jobs);
    if (next_ns > LATEST_NS)
        return err_set(run->err, EINVAL,
                       "%zu of %zu jobs have not ended after 104 days, the most a run can take: "
                       "shorten the workload",
                       run->n_jobs - run->done, run->n_jobs);
    return 0;
}

static int one_instant(struct run *run)
{
    int64_t next_ns = FLUID_NEVER;
    int r = next_instant(run, &next_ns);
    run->over = run->config->resume && (next_ns > LATEST_NS || ++run->still > STILL_MAX);
    if (r || run->over)
        return r;
    r = check_instant(run, next_ns);
    if (r)
        return r;
    if (run_links_note(run, next_ns))
        return -ENOMEM;
    if (run->config->passes)
        run->config->passes(run->config->passer, run->engine, run->now_ns, next_ns);
    run->now_ns = next_ns;
    if (fluid_advance(run->fluid, next_ns))
        return run_out_of_memory(run);
    r = happen(run);
    if (!r && (run->n_events || run_deadline_ns(run) <= run->now_ns))
        r = run_step(run, run->events, run->n_events);
    r = r ? r : take_arrivals(run);
    r = r ? r : copies_take(run);
    r = r ? r : framework_start(run);
    if (run->config->progress)
        run->config->progress(run->config->user, (double)run->done / (double)run->n_jobs);
    return r;
}

static int set_users(struct run *run)
{
    int r = 0;
    for (uint32_t u = 0; !r && u < run->config->n_users; u++) {
        struct event e = {.kind = EVENT_USER_SET, .request = u + 1};
        char name[16];
        snprintf(name, sizeof(name), "u%u", u);
        e.user_set.user = u;
        e.user_set.name = name;
        e.user_set.share = run->config->shares[u];
        r = run_step(run, &e, 1);
    }
    return r;
}

static int join_hosts(struct run *run)
{
    for (uint32_t h = 0; h < run->config->hosts; h++) {
        struct event e = {.kind = EVENT_HOST_JOIN};
        e.host_join.host = h;
        e.host_join.generation = 1;
        struct host_words words = hosts_words(run, h);
        e.host_join.name = words.name;
        e.host_join.rack = words.rack;
        hosts_describe(run, &e);
        int r = run_step(run, &e, 1);
        r = r ? r : hosts_report_foreign(run, h);
        if (r)
            return r;
    }
    return run->n_events ? run_step(run, run->events, run->n_events) : 0;
}

/* D-CLAS has a table of its own. */
static bool unlimited(const struct engine_config *c)
{
    return strcmp(c->network, "dclas") != 0 && !c->coflow.levels && !c->macroflow.levels;
}

static uint32_t levels_of(const struct run *run)
{
    const struct engine_config *c = &run->config->engine;
    uint32_t most = c->coflow.levels > c->macroflow.levels ? c->coflow.levels : c->macroflow.levels;
    most = most > c->dclas.levels ? most : c->dclas.levels;
    return most > run->ranks.n ? most : (uint32_t)run->ranks.n;
}

static int check_outside(const struct run_config *c, struct err *err)
{
    return c->outside_bps && (c->racks || c->cluster || faults_hosts_fail(&c->faults))
               ? err_set(
                     err, EINVAL,
                     "blocks are read from outside only without racks, cluster files and failing "
                     "hosts")
               : 0;
}

static int check_racks(const struct run_config *c, struct err *err)
{
    if (c->cluster && (c->racks || c->framework))
        return err_set(err, EINVAL,
                       "the hosts of a cluster file are on one big switch, and not a framework's");
    return c->racks && c->hosts % c->racks
               ? err_set(err, EINVAL, "%u servers do not divide into %u racks", c->hosts, c->racks)
               : 0;
}

static int check_framework(const struct run_config *c, struct err *err)
{
    if (!c->framework)
        return 0;
    if (c->report_delay_ns || c->decision_delay_ns || c->copy_after > 0 ||
        faults_hosts_fail(&c->faults))
        return err_set(err, EINVAL,
                       "a framework is simulated without delays, failing hosts and copies");
    return c->engine.framework_jobs_max
               ? 0
               : err_set(err, EINVAL, "the engine is to know 0 jobs of frameworks, at least 1");
}

static int check_resume(const struct run_config *c, struct err *err)
{
    bool other = c->racks || c->cluster || c->framework || c->outside_bps || c->copy_after > 0 ||
                 c->n_users || c->told || c->report_delay_ns || c->decision_delay_ns;
    if (c->resume && other)
        return err_set(err, EINVAL,
                       "a run that begins with a state is on one big switch of the state's hosts, "
                       "without delays, copies and frameworks");
    if (c->resume && unlimited(&c->engine))
        return err_set(err, EINVAL,
                       "a run that begins with a state needs a bounded number of levels: set "
                       "levels");
    return 0;
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
    int r = check_framework(config, err);
    r = r ? r : check_racks(config, err);
    r = r ? r : disks_check(config, err);
    r = r ? r : check_resume(config, err);
    return r ? r : check_outside(config, err);
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

static int remember_arrivals(struct run *run)
{
    run->arrival_room = calloc(run->n_jobs ? run->n_jobs : 1, sizeof(*run->arrival_room));
    for (size_t i = 0; run->arrival_room && i < run->n_jobs; i++) {
        struct arrival *a = &run->arrival_room[i];
        *a = (struct arrival){.job = run->jobs[i].id, .index = i};
        HASH_ADD(hh, run->arrivals, job, sizeof(a->job), a);
        if (!a->hh.tbl)
            return run_out_of_memory(run);
    }
    return run->arrival_room ? 0 : run_out_of_memory(run);
}

static int open_coflows(struct run *run)
{
    size_t n = 0;
    run->first_coflow = calloc(run->n_jobs ? run->n_jobs : 1, sizeof(*run->first_coflow));
    for (size_t i = 0; run->first_coflow && i < run->n_jobs; i++) {
        run->first_coflow[i] = n;
        n += run->jobs[i].n_stages;
    }
    run->coflows = calloc(n ? n : 1, sizeof(*run->coflows));
    run->coflow_s = calloc(n ? n : 1, sizeof(*run->coflow_s));
    return run->first_coflow && run->coflows && run->coflow_s ? reports_open(run, n)
                                                              : run_out_of_memory(run);
}

static bool is_foreign(const struct run_config *c, uint32_t host)
{
    const struct run_foreign *f = &c->foreign;
    return f->share > 0 && floor((host + 1) * f->part + 1e-9) > floor(host * f->part + 1e-9);
}

double run_foreign_share(const struct run_config *c, uint32_t link)
{
    uint32_t first_down = run_ports(c);
    bool up = link < c->hosts, down = link >= first_down && link < first_down + c->hosts;
    bool foreign = (up && c->foreign.up) || (down && c->foreign.down);
    return foreign && is_foreign(c, down ? link - first_down : link) ? c->foreign.share : 0;
}

static int add_foreign(const struct run_config *c, struct topology *t, struct err *err)
{
    int r = 0;
    for (uint32_t link = 0; !r && link < run_ports(c) + c->hosts; link++) {
        double share = run_foreign_share(c, link);
        if (share > 0)
            r = topology_set_link(t, link, topology_link_bytes_s(t, link) * (1 - share), err);
    }
    return r;
}

/* Sets links with other rates than the common one. */
static int set_links(const struct cluster *cluster, uint64_t link_bps, struct topology *t,
                     struct err *err)
{
    int r = 0;
    for (uint32_t h = 0; !r && h < cluster->n_hosts; h++) {
        uint64_t up = cluster_uplink_bps(cluster->hosts[h].class),
                 down = cluster_downlink_bps(cluster->hosts[h].class);
        if (up && up != link_bps)
            r = topology_set_link(t, h, (double)up / 8, err);
        if (!r && down && down != link_bps)
            r = topology_set_link(t, t->n_hosts + h, (double)down / 8, err);
    }
    return r;
}

uint64_t run_slots(const struct run_config *c)
{
    uint64_t slots = c->cluster ? 0 : (uint64_t)c->hosts * c->slots;
    for (uint32_t h = 0; c->cluster && h < c->hosts; h++)
        slots += cluster_slots(c->cluster->hosts[h].class, c->slots);
    return slots;
}

int run_topology(const struct run_config *c, struct topology *ret_topology, struct err *err)
{
    double link_bytes_s = (double)c->link_bps / 8;
    int r = c->racks ? topology_init_leaf_spine(ret_topology, c->racks, c->hosts / c->racks,
                                                link_bytes_s, c->spines ? c->spines : 1,
                                                c->oversubscription, !c->spines, err)
                     : topology_init_switch(ret_topology, run_ports(c), link_bytes_s, err);
    if (!r && c->outside_bps)
        r = topology_set_link(ret_topology, c->hosts, (double)c->outside_bps / 8, err);
    r = r || !c->cluster ? r : set_links(c->cluster, c->link_bps, ret_topology, err);
    r = r || !c->resume ? r : resume_links(c->resume, ret_topology, err);
    r = r || !c->own_links ? r : own_links_read(ret_topology, c->own_links, err);
    if (!r)
        topology_scale(ret_topology, 1 - c->headers);
    return r ? r : add_foreign(c, ret_topology, err);
}

static int open_engine(struct run *run)
{
    const struct run_config *c = run->config;
    if (!c->resume)
        return engine_create(&c->engine, &run->engine, run->err);
    struct engine_status status;
    engine_status(c->resume->engine, &status);
    run->engine = c->resume->engine;
    run->from_ns = c->resume->at_ns;
    run->mode = status.mode;
    run->arrived = c->resume->n_jobs;
    return 0;
}

static int open_run(struct run *run)
{
    const struct run_config *c = run->config;
    LIST_INIT(&run->pipelined);
    run->told.item_bytes = sizeof(struct event);
    run->orders.item_bytes = sizeof(struct order);
    run->wanted.item_bytes = sizeof(uint64_t);
    run->pipelines = any_pipelined(run->jobs, run->n_jobs);
    int r = unlimited(&c->engine) ? ranks_make(&run->ranks, run->jobs, run->n_jobs, run->err) : 0;
    r = r ? r : run_topology(c, &run->topology, run->err);
    r = r ? r : hosts_open(run);
    r = r ? r : disks_open(run);
    r = r ? r : open_coflows(run);
    r = r ? r : framework_open(run);
    if (r)
        return r;
    struct fluid_config network = {.topology = &run->topology,
                                   .levels = levels_of(run),
                                   .local_free = c->local_free,
                                   .hot_per_mille = c->engine.congested_permille,
                                   .cool_per_mille = c->engine.cleared_permille};
    if (!r)
        r = fluid_create(&network, &run->fluid, run->err);
    r = r ? r : open_engine(run);
    if (r)
        return r;
    run->receiving = calloc(c->hosts, sizeof(*run->receiving));
    run->downlinks = calloc(run_ports(c), sizeof(*run->downlinks));
    run->host_bytes = calloc(run_ports(c), sizeof(*run->host_bytes));
    run->sources = calloc(run_ports(c), sizeof(*run->sources));
    if (!run->receiving || !run->downlinks || !run->host_bytes || !run->sources)
        return run_out_of_memory(run);
    r = run_recording_begin(&run->recording, c->recording, run->engine, run->err);
    return r ? r : remember_arrivals(run);
}

static void close_run(struct run *run)
{
    run_attempts_done(run);
    HASH_CLEAR(hh, run->arrivals);
    free(run->arrival_room);
    heap_done(&run->computing);
    heap_done(&run->suspects);
    reports_close(run);
    delay_line_done(&run->told);
    delay_line_done(&run->orders);
    delay_line_done(&run->wanted);
    hosts_close(run);
    disks_close(run);
    free(run->outputs);
    free(run->coflows);
    free(run->coflow_s);
    free(run->first_coflow);
    framework_close(run);
    submission_done(&run->submission);
    free(run->events);
    free(run->receiving);
    free(run->downlinks);
    free(run->host_bytes);
    free(run->sources);
    decisions_done(&run->decisions);
    if (!run->config->resume)
        engine_destroy(run->engine);
    fluid_destroy(run->fluid);
    topology_done(&run->topology);
    ranks_done(&run->ranks);
}

static struct stats coflow_times(struct run *run)
{
    size_t stages = 0, n = 0;
    for (size_t i = 0; i < run->n_jobs; i++)
        stages += run->jobs[i].n_stages;
    for (size_t i = 0; i < stages; i++) {
        const struct run_coflow c = run->coflows[i];
        if (c.began && c.last_ns)
            run->coflow_s[n++] = (double)(c.last_ns - c.first_ns) * 1e-9;
    }
    return stats_of(run->coflow_s, n);
}

static double device_use(const struct run *run)
{
    double gpu_milli = 0;
    for (uint32_t h = 0; run->config->cluster && h < run->config->hosts; h++) {
        const struct cluster_class *class = run->config->cluster->hosts[h].class;
        for (uint32_t u = 0; u < class->n_units; u++)
            gpu_milli += (double)class->units[u].gpu_milli;
    }
    return gpu_milli > 0 ? run->gpu_milli_ns * 1e-9 / gpu_milli / run->result->makespan_s : 0;
}

static void conclude(struct run *run)
{
    struct engine_counters counters;
    struct run_result *result = run->result;
    double begin_s = run->n_jobs ? (double)run->jobs[0].arrival_ns * 1e-9 : 0;
    engine_counters(run->engine, &counters);
    result->makespan_s = (double)(run->now_ns - run->config->report_delay_ns) * 1e-9 - begin_s;
    for (size_t i = 0; i < run->n_jobs; i++)
        for (uint32_t s = 0; s < run->jobs[i].n_stages; s++)
            result->tasks += run->jobs[i].stages[s].tasks;
    result->slot_wait_s /= result->tasks ? (double)result->tasks : 1;
    result->held_slot_s = (double)counters.held_slot_ns * 1e-9;
    result->mode_switches = counters.mode_switches;
    result->holds = counters.holds;
    result->cct_s = coflow_times(run);
    double could_bytes = 0;
    for (uint32_t h = 0; h < run->config->hosts; h++)
        could_bytes += topology_link_bytes_s(&run->topology, h) * result->makespan_s;
    if (result->makespan_s > 0) {
        result->link_use = run->wire_bytes / could_bytes;
        result->starved = (double)counters.starved_ns * 1e-9 / result->makespan_s;
        result->device_use = device_use(run);
    }
}

int run_simulate(const struct run_config *config, const struct workload_job *jobs, size_t n_jobs,
                 struct run_result *result, struct err *err)
{
    int r = check(config, err);
    if (r)
        return r;
    struct run run = {
        .config = config, .jobs = jobs, .n_jobs = n_jobs, .result = result, .err = err};
    double *jct_s = result->jct_s;
    *result = (struct run_result){.jct_s = jct_s};
    r = open_run(&run);
    r = r ? r : set_users(&run);
    r = r ? r : config->resume ? resume_begin(&run) : join_hosts(&run);
    while (!r && run.done < n_jobs && !run.over)
        r = one_instant(&run);
    if (!r)
        conclude(&run);
    int written = run_recording_end(&run.recording, r ? NULL : err);
    r = r ? r : written;
    close_run(&run);
    return r;
}
