/* A run that begins with an engine which has jobs and attempts (struct run_resume): what runs
 * already is put on its hosts and on the wire, with what is left of it. */
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The longest time that something is taken to have lasted: far longer than any task. */
#define LONGEST_NS (INT64_C(1) << 53)

static int set_rate(struct topology *t, uint32_t link, uint64_t bps, struct err *err)
{
    return bps >= 8 ? topology_set_link(t, link, (double)bps / 8, err) : 0;
}

int resume_links(const struct run_resume *resume, struct topology *t, struct err *err)
{
    struct host_view host;
    int r = 0;
    for (uint32_t h = 0; !r && h < t->n_hosts; h++) {
        if (engine_host(resume->engine, h, &host) < 0)
            continue;
        r = set_rate(t, h, host.uplink_bps, err);
        r = r ? r : set_rate(t, t->n_hosts + h, host.downlink_bps, err);
    }
    return r;
}

/* So long before the run's begin; 0 of what is later. */
static int64_t before(const struct run *run, int64_t then_ns)
{
    uint64_t passed_ns = (uint64_t)run->from_ns - (uint64_t)then_ns;
    if (then_ns >= run->from_ns)
        return 0;
    return passed_ns < LONGEST_NS ? (int64_t)passed_ns : LONGEST_NS;
}

static int by_attempt(const void *key, const void *item)
{
    const uint64_t *attempt = key;
    const struct run_received *received = item;
    return *attempt < received->attempt ? -1 : *attempt > received->attempt;
}

const struct run_received *run_received_find(const struct run_received *received, size_t n,
                                             uint64_t attempt)
{
    return n ? bsearch(&attempt, received, n, sizeof(*received), by_attempt) : NULL;
}

static int64_t remote_bytes(const struct run_attempt *a)
{
    int64_t bytes = a->block_bytes;
    for (uint32_t i = 0; i < a->n_sources; i++)
        bytes += a->sources[i].bytes;
    return bytes;
}

/* WHY the full rate where it is not known: the guess is then the longest computing that there can
 * have been. */
static int64_t computed_ns(struct run *run, const struct run_attempt *a,
                           const struct attempt_view *view, int64_t remote)
{
    const struct run_resume *resume = run->config->resume;
    const struct run_received *received =
        run_received_find(resume->received, resume->n_received, view->attempt);
    int64_t lasted_ns = before(run, view->started_ns);
    if (received)
        return before(run, received->at_ns);
    if (!remote || a->pipelined)
        return lasted_ns;
    double rate = topology_link_bytes_s(&run->topology, run_ports(run->config) + a->host);
    double receiving_ns = (double)remote / rate * 1e9;
    resume->assumed->since_guessed++;
    return receiving_ns < (double)lasted_ns ? lasted_ns - (int64_t)receiving_ns : 0;
}

static int compute_on(struct run *run, struct run_attempt *a, const struct attempt_view *view)
{
    int64_t remote = remote_bytes(a), computed = computed_ns(run, a, view, remote);
    int64_t left_ns = a->compute_ns - computed;
    a->phase = PHASE_COMPUTING;
    a->remote_bytes = a->before_bytes = remote;
    free(a->sources);
    a->sources = NULL;
    /* WHY not of pipelined ones: they also wait for their input. */
    run->config->resume->assumed->late += left_ns < 0 && !a->pipelined;
    return heap_push(&run->computing, run->computing_where, left_ns > 0 ? (double)left_ns : 0,
                     a->id)
               ? run_out_of_memory(run)
               : 0;
}

static int64_t left_of(int64_t bytes, double share)
{
    return bytes - (int64_t)((double)bytes * share);
}

static int receive_on(struct run *run, struct run_attempt *a, const struct attempt_view *view)
{
    int64_t all = remote_bytes(a);
    double share = all > 0 ? fmin(1, (double)view->received_bytes / (double)all) : 0;
    for (uint32_t i = 0; i < a->n_sources; i++)
        a->sources[i].bytes = left_of(a->sources[i].bytes, share);
    a->block_bytes = left_of(a->block_bytes, share);
    a->remote_bytes = a->before_bytes = all - remote_bytes(a);
    a->phase = PHASE_RECEIVING;
    if (a->pipelined) {
        a->overlap_end_ns = (double)(a->compute_ns - before(run, view->started_ns));
        LIST_INSERT_HEAD(&run->pipelined, a, of_pipelined);
    }
    return run_attempt_go_on(run, a);
}

/* An attempt that has nothing to receive computes, whatever its host reported. */
static int go_on(struct run *run, struct run_attempt *a, const struct attempt_view *view)
{
    if (view->state <= ATTEMPT_QUEUED)
        return run_attempt_begin(run, a);
    run->result->attempts++;
    return view->state == ATTEMPT_COMPUTING || (!remote_bytes(a) && !a->n_missing)
               ? compute_on(run, a, view)
               : receive_on(run, a, view);
}

static int take_on(struct run *run, const struct attempt_view *view)
{
    const struct workload_job *job = &run->jobs[run_job_index(run, view->job)];
    if (view->stage >= job->n_stages || view->variant > job->stages[view->stage].n_variants)
        return err_set(run->err, EINVAL, "attempt %llu runs in a way that its stage does not have",
                       (unsigned long long)view->attempt);
    struct run_attempt *a =
        run_attempt_make(run, view->attempt, view->job, view->stage, view->task, view->host);
    if (!a)
        return run_out_of_memory(run);
    a->variant = view->variant;
    run_attempt_set_levels(run, a, view->coflow_level, view->macroflow_level);
    run->config->resume->assumed->attempts++;
    int r = run_attempt_gather(run, a);
    return r ? r : go_on(run, a, view);
}

static int end_now(struct run *run, uint64_t attempt)
{
    struct event e = {.kind = EVENT_ATTEMPT_KILLED};
    e.attempt.attempt = attempt;
    return run_tell(run, &e);
}

static int take_attempts(struct run *run)
{
    struct run_assumed *assumed = run->config->resume->assumed;
    struct attempt_view view = {0};
    int r = 0;
    while (!r && engine_attempt_after(run->engine, view.attempt, &view) == 0) {
        const bool ours = run_has_job(run, view.job);
        if (ours && !view.orphan && !view.stopping) {
            r = take_on(run, &view);
            continue;
        }
        *(ours || !view.foreign ? &assumed->stopping : &assumed->left_out) += 1;
        r = end_now(run, view.attempt);
    }
    return r;
}

static int leave_out_frameworks(struct run *run)
{
    struct job_view job = {0};
    int r = 0;
    while (!r && engine_job_after(run->engine, job.job, &job) == 0) {
        struct event e = {.kind = EVENT_FRAMEWORK_END};
        if (!job.framework)
            continue;
        e.framework_end.job = job.job;
        e.framework_end.outcome = JOB_CANCELLED;
        run->config->resume->assumed->jobs_left_out++;
        r = run_tell(run, &e);
    }
    return r;
}

/* WHY loads of uplinks begin anew: the network tells only changes, and would never tell that one is
 * used less than its host had reported. */
static int look_at_hosts(struct run *run)
{
    struct run_assumed *assumed = run->config->resume->assumed;
    struct host_view host;
    int r = 0;
    for (uint32_t h = 0; r == 0 && h < run->config->hosts; h++) {
        bool there = engine_host(run->engine, h, &host) == 0 && host.joined && !host.lost;
        assumed->silent += there && host.silent;
        assumed->unrated += there && (host.uplink_bps < 8 || host.downlink_bps < 8);
        if (run->hosts && !there) {
            run->hosts[h].down = true;
            run->hosts[h].heard_ns = INT64_MAX;
        }
        struct event none = hosts_load(h, LOAD_UPLINK, 0);
        if (there && host.uplink_permille)
            r = run_tell(run, &none);
    }
    return r;
}

int resume_begin(struct run *run)
{
    const struct run_resume *resume = run->config->resume;
    *resume->assumed = (struct run_assumed){0};
    for (size_t i = 0; i < run->n_jobs; i++)
        resume->ends[i] = RUN_NEVER_ENDS;
    int r = look_at_hosts(run);
    r = r ? r : leave_out_frameworks(run);
    r = r ? r : take_attempts(run);
    for (size_t i = 0; !r && i < resume->n_events; i++)
        r = run_tell(run, &resume->events[i]);
    return r;
}
