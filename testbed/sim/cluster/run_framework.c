/* A framework in the simulation: it places its tasks by itself, and the engine is told by facts.
 *
 * It is prompt (what is allowed starts at the instant at which it is, and is told at it), obedient
 * (where and what was allowed) and places maps as it is advised. So its plan is the one that the
 * engine has for slots of its own, which tests hold it to. */
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_NUMBER (UINT64_C(1) << 63) /* of its attempts: no controller's epoch is so late */

int framework_open(struct run *run)
{
    if (!run->config->framework)
        return 0;
    run->framework.tasks_left = calloc(run->n_jobs ? run->n_jobs : 1, sizeof(uint64_t));
    for (size_t i = 0; run->framework.tasks_left && i < run->n_jobs; i++)
        for (uint32_t s = 0; s < run->jobs[i].n_stages; s++)
            run->framework.tasks_left[i] += run->jobs[i].stages[s].tasks;
    return run->framework.tasks_left ? 0 : run_out_of_memory(run);
}

void framework_close(struct run *run)
{
    free(run->framework.tasks_left);
    free(run->framework.allowed);
}

int framework_task_done(struct run *run, const struct run_attempt *a)
{
    struct event e = {.kind = EVENT_FRAMEWORK_END};
    if (!run->config->framework || --run->framework.tasks_left[run_job_index(run, a->job)])
        return 0;
    e.framework_end.job = a->job;
    e.framework_end.outcome = JOB_DONE;
    return run_report(run, &e);
}

int framework_allow(struct run *run, const struct decision *d)
{
    struct run_framework *f = &run->framework;
    if (run_grow((void **)&f->allowed, &f->room, f->n + 1, sizeof(*f->allowed)))
        return run_out_of_memory(run);
    f->allowed[f->n++] = *d;
    return 0;
}

static struct event started(const struct run *run, const struct decision *d, uint64_t number)
{
    const struct workload_demand *demand =
        &run->jobs[run_job_index(run, d->allow.job)].stages[d->allow.stage].demand;
    struct event e = {.kind = EVENT_FRAMEWORK_STARTED};
    e.framework_task.attempt = number;
    e.framework_task.allow = d->allow.allow;
    e.framework_task.job = d->allow.job;
    e.framework_task.stage = d->allow.stage;
    e.framework_task.task = d->allow.task;
    e.framework_task.host = d->allow.host;
    e.framework_task.unit = d->allow.unit;
    e.framework_task.phase = ATTEMPT_STARTED;
    e.framework_task.resources = submission_demand(demand);
    return e;
}

/* It runs, at the levels that the engine has for it by now. */
static int begin(struct run *run, uint64_t number)
{
    struct attempt_view view;
    struct run_attempt *a = run_attempt_find(run, number);
    if (!a || engine_attempt(run->engine, number, &view))
        return 0;
    run_attempt_set_levels(run, a, view.coflow_level, view.macroflow_level);
    int r = run_attempt_gather(run, a);
    return r ? r : run_attempt_begin(run, a);
}

int framework_start(struct run *run)
{
    struct run_framework *f = &run->framework;
    size_t n = f->n;
    uint64_t first = FIRST_NUMBER + f->started;
    struct event *events = n ? calloc(n, sizeof(*events)) : NULL;
    if (!n)
        return 0;
    f->n = 0;
    f->started += n;
    int r = events ? 0 : run_out_of_memory(run);
    for (size_t i = 0; !r && i < n; i++) {
        const struct decision *d = &f->allowed[i];
        events[i] = started(run, d, first + i);
        if (!run_attempt_make(run, first + i, d->allow.job, d->allow.stage, d->allow.task,
                              d->allow.host))
            r = run_out_of_memory(run);
    }
    r = r ? r : run_step(run, events, n);
    for (size_t i = 0; !r && i < n; i++)
        r = begin(run, first + i);
    free(events);
    return r;
}
