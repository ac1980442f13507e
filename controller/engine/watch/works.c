#include "controller/engine/watch/works.h"

#include "controller/engine/base/tell.h"
#include "controller/engine/books/assembly.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/watch/estimate.h"
#include "controller/engine/watch/order.h"

static void count_task(struct task *task, bool in)
{
    struct job *job = task->stage->job;
    uint64_t work_ns = variant_work_ns(task);
    if (task_state(task) != TASK_DONE)
        job->left_ns += in ? work_ns : -work_ns;
    if (!task->bytes)
        job->maps_ns += in ? (engine_wide)work_ns : -(engine_wide)work_ns;
}

/* The stage's tasks that are in its job's sums leave them, or come back. */
static void count_stage(struct engine *engine, struct stage *stage, bool in)
{
    bool active = stage->job->state == JOB_ACTIVE;
    for (uint32_t t = 0; t < stage->n_tasks && assembly_has_counted(stage, t); t++) {
        engine->counters.visits++;
        if (active && !in)
            tell_task_counts(engine, &stage->tasks[t], false);
        count_task(&stage->tasks[t], in);
        if (active && in)
            tell_task_counts(engine, &stage->tasks[t], true);
    }
}

static bool has(const struct job *job, const struct ways *ways)
{
    for (uint32_t i = 0; i < job->n_choices; i++)
        if (job->choices[i]->ways == ways)
            return true;
    return false;
}

static void count_all(struct engine *engine, const struct ways *ways, bool in)
{
    for (struct sorted_node *node = sorted_first(&engine->jobs); node; node = sorted_next(node)) {
        const struct job *job = container_of(node, struct job, by_number);
        for (uint32_t s = 0; has(job, ways) && s < job->n_stages; s++)
            if (job->stages[s]->choice && job->stages[s]->choice->ways == ways)
                count_stage(engine, job->stages[s], in);
    }
}

static void take_turns(struct engine *engine, const struct ways *ways)
{
    for (struct sorted_node *node = sorted_first(&engine->jobs); node; node = sorted_next(node)) {
        struct job *job = container_of(node, struct job, by_number);
        if (job->state != JOB_ACTIVE || !has(job, ways))
            continue;
        job->estimate_key = estimate_duration(engine, job);
        order_change(engine, job);
    }
}

static void cluster_changed(struct engine *engine)
{
    struct ways *ways;
    TAILQ_FOREACH (ways, &engine->ways, of_engine) {
        uint32_t held = ways_held(ways);
        if (held == ways->held)
            continue;
        count_all(engine, ways, false);
        ways->held = held;
        count_all(engine, ways, true);
        take_turns(engine, ways);
    }
}

const struct listener works_hears = {.cluster_changed = cluster_changed};
