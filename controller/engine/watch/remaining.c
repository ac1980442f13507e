#include "controller/engine/watch/remaining.h"

#include "controller/engine/books/variant.h"

/* It has an accepted attempt, or a live one with all its input. */
static bool is_past(const struct task *task)
{
    const struct attempt *attempt = task->bytes ? task->attempts : NULL;
    while (attempt && attempt->state != ATTEMPT_COMPUTING)
        attempt = attempt->next_of_task;
    return task_state(task) == TASK_DONE || attempt;
}

static void count(const struct task *task, bool past)
{
    struct job *job = task->stage->job;
    if (task->bytes) {
        job->remaining.bytes += past ? -task->bytes : task->bytes;
        return;
    }
    job->remaining.maps += past ? -UINT64_C(1) : 1;
    engine_wide work_ns = variant_work_ns(task);
    job->remaining.work_ns += past ? -work_ns : work_ns;
}

static void look(struct task *task)
{
    bool past = is_past(task);
    if (past != task->past)
        count(task, past);
    task->past = past;
}

/* Begins with everything: tasks follow. */
static void begin(struct job *job)
{
    job->remaining.maps = job->framework ? 0 : job->maps;
    job->remaining.work_ns = job->framework ? 0 : job->maps_ns;
    job->remaining.bytes = job->framework ? 0 : job->shuffle_bytes;
}

static void count_stage(struct stage *stage)
{
    const bool framework = stage->job->framework;
    if (!framework && !stage->n_started && TAILQ_EMPTY(&stage->attempts))
        return;
    for (uint32_t t = 0; t < stage->n_tasks; t++) {
        if (framework)
            count(&stage->tasks[t], false);
        stage->tasks[t].past = false;
        look(&stage->tasks[t]);
    }
}

void remaining_restore(struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->jobs); node; node = sorted_next(node)) {
        struct job *job = container_of(node, struct job, by_number);
        if (job->state != JOB_ACTIVE)
            continue;
        begin(job);
        for (uint32_t s = 0; s < job->n_stages; s++)
            count_stage(job->stages[s]);
    }
}

/* WHY not while a dump is loaded: what a task is comes before what it counts as. */
static void job_active(struct engine *engine, struct job *job)
{
    if (!engine->suspended)
        begin(job);
}

static void task_moved(struct engine *engine, struct task *task, enum task_state before)
{
    (void)before;
    if (!engine->suspended)
        look(task);
}

static void task_counts(struct engine *engine, struct task *task, bool in)
{
    if (engine->suspended)
        return;
    if (in) {
        /* WHY: most tasks that count anew have not begun, and there may be 10⁵ of them. */
        const bool may_be_past = task->past || task->attempts;
        task->past = false;
        count(task, false);
        if (may_be_past)
            look(task);
    } else if (!task->past) {
        count(task, true);
    }
}

static void attempt_moved(struct engine *engine, struct task *task, struct attempt *attempt)
{
    (void)attempt;
    if (!engine->suspended)
        look(task);
}

const struct listener remaining_hears = {.job_active = job_active,
                                         .task_moved = task_moved,
                                         .task_counts = task_counts,
                                         .attempt_moved = attempt_moved};
