/* Ends in a simulated framework: of tasks, with their copies, and of executors. */
#include "testbed/sim/cluster/run_state.h"

#define LOSS_NS UINT64_C(20000000000) /* between two ends of executors, at most */

/* The task's attempt on this host has ended. */
static void leave(struct run *run, const struct run_attempt *a)
{
    const size_t job = run_job_index(run, a->job);
    run->framework.used[a->host] -= framework_slots(run, job, a->stage);
    framework_own_stage(run, job, a->stage)->tasks[a->task].attempts--;
}

static int kill_copies(struct run *run, const struct run_attempt *done)
{
    struct run_attempt *a, *next;
    int r = 0;
    HASH_ITER (hh, run->live, a, next) {
        if (r || a == done || a->job != done->job || a->stage != done->stage ||
            a->task != done->task)
            continue;
        leave(run, a);
        run_notify(run, RUN_STOPPED, a, a->host);
        r = run_report_attempt(run, EVENT_ATTEMPT_KILLED, a->number, 0);
        r = r ? r : run_attempt_drop(run, a);
    }
    return r;
}

int framework_task_done(struct run *run, const struct run_attempt *a)
{
    struct event e = {.kind = EVENT_FRAMEWORK_END};
    if (!run->config->framework)
        return 0;
    const size_t index = run_job_index(run, a->job);
    struct own_job *job = &run->framework.jobs[index];
    struct own_task *task = &job->stages[a->stage].tasks[a->task];
    leave(run, a);
    task->state = OWN_DONE;
    task->host = a->host;
    task->attempt = a->number;
    job->stages[a->stage].n_done++;
    int r = task->attempts ? kill_copies(run, a) : 0;
    if (r || --job->left)
        return r;
    e.framework_end.job = a->job;
    e.framework_end.outcome = JOB_DONE;
    return run_report(run, &e);
}

static int copy(struct run *run, struct own_start start)
{
    const struct own_task *task =
        &framework_own_stage(run, start.job, start.stage)->tasks[start.task];
    if (task->state != OWN_RUNS || task->attempts != 1)
        return 0;
    start.host = framework_free_host(run, framework_slots(run, start.job, start.stage));
    run->result->copies += start.host != ENGINE_NONE;
    return start.host == ENGINE_NONE ? 0 : framework_push(run, start);
}

static int lose_attempts(struct run *run, uint32_t host)
{
    struct run_attempt *a, *next;
    int r = 0;
    HASH_ITER (hh, run->live, a, next) {
        if (r || a->host != host)
            continue;
        struct own_stage *stage = framework_own_stage(run, run_job_index(run, a->job), a->stage);
        leave(run, a);
        if (!stage->tasks[a->task].attempts) {
            stage->tasks[a->task].state = OWN_WAITS;
            stage->n_waiting++;
        }
        run->result->lost_attempts++;
        run_notify(run, RUN_LOST, a, host);
        r = run_report_attempt(run, EVENT_ATTEMPT_FAILED, a->number, 0);
        r = r ? r : run_attempt_drop(run, a);
    }
    return r;
}

/* A stage that reads it is not done. */
static bool is_needed(struct run *run, size_t job, uint32_t stage)
{
    for (uint32_t s = stage + 1; s < run->jobs[job].n_stages; s++)
        for (uint32_t e = 0; e < framework_spec(run, job, s)->n_parents; e++)
            if (framework_spec(run, job, s)->parents[e].parent == stage &&
                framework_own_stage(run, job, s)->n_done < framework_spec(run, job, s)->tasks)
                return true;
    return false;
}

static int lose_outputs(struct run *run, size_t job, uint32_t s, uint32_t host)
{
    struct own_stage *stage = framework_own_stage(run, job, s);
    int r = 0;
    for (uint32_t t = 0; !r && stage->n_done && t < framework_spec(run, job, s)->tasks; t++) {
        struct own_task *task = &stage->tasks[t];
        struct event e = {.kind = EVENT_OUTPUT_LOST};
        if (task->state != OWN_DONE || task->host != host)
            continue;
        e.output_lost.job = run->jobs[job].id;
        e.output_lost.stage = s;
        e.output_lost.task = t;
        e.output_lost.attempt = task->attempt;
        task->state = OWN_WAITS;
        stage->n_waiting++;
        stage->n_done--;
        run->framework.jobs[job].left++;
        r = run_report(run, &e);
    }
    return r;
}

void framework_plan_loss(struct run *run)
{
    const bool losing = run->config->framework->losing;
    run->framework.next_loss_ns =
        losing ? run->now_ns + 1 + (int64_t)framework_draw(run, LOSS_NS) : FLUID_NEVER;
}

/* Ends an executor, and another one takes its place at once. Tasks that read from there have read
 * it. WHY last stages first: a stage that runs again needs the outputs of those before it. */
static int lose_executor(struct run *run)
{
    const struct run_framework *f = &run->framework;
    const uint32_t host = (uint32_t)framework_draw(run, run->config->hosts);
    int r = lose_attempts(run, host);
    for (size_t j = f->first_live; !r && j < run->n_jobs && f->jobs[j].here; j++)
        for (uint32_t s = run->jobs[j].n_stages; !r && f->jobs[j].left && s-- > 0;)
            r = is_needed(run, j, s) ? lose_outputs(run, j, s, host) : 0;
    return r;
}

int64_t framework_next_ns(const struct run *run)
{
    const struct run_framework *f = &run->framework;
    if (!f->jobs)
        return FLUID_NEVER;
    int64_t copies_ns = delay_line_next_ns(&f->copies),
            next_ns = copies_ns < f->next_loss_ns ? copies_ns : f->next_loss_ns;
    for (size_t i = 0; i < f->n_allows; i++)
        if (!f->allows[i].used && f->allows[i].from_ns > run->now_ns &&
            f->allows[i].from_ns < next_ns)
            next_ns = f->allows[i].from_ns;
    return next_ns;
}

int framework_take(struct run *run)
{
    struct run_framework *f = &run->framework;
    struct own_start start;
    int r = 0;
    while (f->jobs && !r && delay_line_take(&f->copies, run->now_ns, &start))
        r = copy(run, start);
    if (r || !f->jobs || f->next_loss_ns > run->now_ns)
        return r;
    framework_plan_loss(run);
    return lose_executor(run);
}
