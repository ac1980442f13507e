#include "controller/engine/books/losing.h"

#include "controller/engine/base/backlog.h"
#include "controller/engine/base/ground.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/rerun.h"
#include "controller/engine/books/spread.h"
#include "controller/engine/books/stage.h"

#include <stdlib.h>

static bool is_lost(const struct losing *losing, const struct task *task)
{
    return task_state(task) == TASK_DONE && task->done_host == losing->host->index &&
           (!losing->last || task->done_attempt <= losing->last);
}

/* True: all its outputs there are lost. WHY the readers are stopped once: nothing starts in
 * between. */
static bool stage_loses(struct engine *engine, struct losing *losing, struct job *job,
                        struct stage *stage)
{
    bool readers = true;
    while (losing->task < stage->n_tasks && stage_is_needed(stage) &&
           spread_outputs(job, losing->host)) {
        struct task *task = &stage->tasks[losing->task];
        if (!engine_may_look(engine))
            return false;
        losing->task++;
        engine->counters.visits++;
        engine->step_looks++;
        if (!is_lost(losing, task))
            continue;
        if (losing->is_there && rerun_is_one_too_many(engine, task))
            return true;
        task_lose_output(engine, task, readers);
        readers = false;
        engine->step_looks += LOOKS_OF_CHANGE;
    }
    return true;
}

/* True: it has lost all. WHY the job is found again by its number: losing an output may fail it,
 * which frees it and all its outputs. WHY the last stage first: a stage that runs again needs the
 * outputs of those before it. */
static bool job_loses(struct engine *engine, struct losing *losing)
{
    struct job *job;
    while ((job = job_find(engine, losing->job)) && losing->stages) {
        if (!stage_loses(engine, losing, job, job->stages[losing->stages - 1]))
            return false;
        losing->stages--;
        losing->task = 0;
    }
    return true;
}

static struct losing *find(const struct engine *engine, uint64_t job, uint32_t host)
{
    struct sorted_node *node = sorted_find(&engine->losing, (struct sorted_key){job, host, 0});
    return node ? container_of(node, struct losing, of_losing) : NULL;
}

static void drop(struct engine *engine, struct losing *losing)
{
    sorted_remove(&engine->losing, &losing->of_losing);
    free(losing);
}

void losing_restore(struct engine *engine, const struct losing *losing)
{
    struct sorted_key key = {losing->job, losing->host->index, 0};
    struct losing *kept = find(engine, key.a, losing->host->index);
    if (!kept)
        kept = engine_allocate(engine, 1, sizeof(*kept));
    struct sorted_node node = kept->of_losing;
    *kept = *losing;
    kept->of_losing = node;
    sorted_place(&engine->losing, &kept->of_losing, key, 0);
}

void losing_go_on(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = backlog_first(engine, &engine->losing)) && engine_may_look(engine)) {
        struct losing now = *container_of(node, struct losing, of_losing);
        bool over = job_loses(engine, &now);
        struct losing *kept = find(engine, now.job, now.host->index);
        if (kept && over)
            drop(engine, kept);
        else if (kept)
            losing_restore(engine, &now);
    }
}

void losing_forget(struct engine *engine, const struct job *job)
{
    struct sorted_node *node;
    while ((node = sorted_from(&engine->losing, (struct sorted_key){job->number, 0, 0})) &&
           node->key.a == job->number)
        drop(engine, container_of(node, struct losing, of_losing));
}

/* The number of the last attempt that was begun. */
static uint64_t last_begun(const struct engine *engine)
{
    uint64_t last = (uint64_t)engine->config.epoch << 32 | (uint32_t)engine->attempt_counter;
    return engine_follows(engine, RULE_LATER_STAYS) ? last : 0;
}

/* WHY the last attempt counts only for outputs lost in later steps: an inventory may hold numbers
 * that were never given. */
static void outputs_of_host_lose(struct engine *engine, struct host *host, bool is_there)
{
    uint32_t n;
    uint64_t *numbers = spread_jobs(engine, host, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct job *job = job_find(engine, numbers[i]);
        /* WHY not: executors, or a service of their own, may still serve them; their framework
         * reports that. */
        if (job && !job->framework)
            losing_restore(engine, &(struct losing){.job = job->number,
                                                    .host = host,
                                                    .is_there = is_there,
                                                    .stages = job->n_stages});
    }
    losing_go_on(engine);
    for (uint32_t i = 0; i < n; i++) {
        struct losing *rest = find(engine, numbers[i], host->index);
        if (rest)
            rest->last = last_begun(engine);
    }
    free(numbers);
}

void job_outputs_of_host_lost(struct engine *engine, struct host *host)
{
    outputs_of_host_lose(engine, host, false);
}

void job_outputs_out_of_reach(struct engine *engine, struct host *host)
{
    outputs_of_host_lose(engine, host, true);
}

void losing_done(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = sorted_first(&engine->losing)))
        drop(engine, container_of(node, struct losing, of_losing));
}
