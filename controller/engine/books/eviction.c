#include "controller/engine/books/eviction.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/job_stages.h"
#include "controller/engine/base/resources.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/stage.h"

#include <stdlib.h>

static bool is_pipelined(const struct stage *child, uint32_t parent)
{
    for (uint32_t i = 0; i < child->n_edges; i++)
        if (child->edges[i].parent == parent && child->edges[i].kind == EDGE_PIPELINED)
            return true;
    return false;
}

static bool has_running_readers(const struct stage *stage)
{
    for (uint32_t i = 0; i < stage->n_children; i++) {
        const struct stage *child = job_stage_at(stage->job, stage->children[i]);
        if (child->n_running && is_pipelined(child, stage->index))
            return true;
    }
    return false;
}

bool eviction_may(const struct attempt *attempt)
{
    const struct host *host = attempt->host;
    return attempt->task && !attempt->foreign && !attempt->stopping && host->joined &&
           !host->silent && !host->lost && !has_running_readers(attempt->task->stage);
}

/* WHY none in an application's room: an attempt that may be evicted is ours, and runs in a unit. */
bool eviction_leaves_room(const struct attempt *attempt, const struct shape *shape)
{
    if (shape->application || !attempt->host->shapes[shape->index]->meets)
        return false;
    struct resources free = host_own_unit(attempt->host, attempt->unit)->free;
    for (int r = 0; r < ENGINE_RESOURCES; r++)
        free.amount[r] += attempt->resources.amount[r];
    return resources_times(&free, &shape->demand) > 0;
}

static struct sorted_key key_of(const struct task *task)
{
    return (struct sorted_key){task->stage->index, task->index, 0};
}

struct evicted *eviction_of(const struct task *task)
{
    struct sorted_node *node = sorted_find(&task->stage->job->evicted, key_of(task));
    return node ? container_of(node, struct evicted, of_job) : NULL;
}

static struct evicted *remember(struct engine *engine, struct task *task)
{
    struct evicted *evicted = eviction_of(task);
    if (evicted)
        return evicted;
    evicted = engine_allocate(engine, 1, sizeof(*evicted));
    sorted_insert(&task->stage->job->evicted, &evicted->of_job, key_of(task), 0);
    return evicted;
}

void eviction_restore(struct engine *engine, struct task *task, const struct evicted *from)
{
    struct evicted *evicted = remember(engine, task);
    struct sorted_node of_job = evicted->of_job;
    *evicted = *from;
    evicted->of_job = of_job;
}

bool eviction_shrink(struct job *job, uint32_t *left)
{
    struct sorted_node *node;
    while (*left && (node = sorted_first(&job->evicted))) {
        --*left;
        sorted_remove(&job->evicted, node);
        free(container_of(node, struct evicted, of_job));
    }
    return !job->evicted.n;
}

static void count(struct engine *engine, const struct attempt *attempt, const struct decision *stop)
{
    struct task *task = attempt->task;
    struct job *job = task->stage->job;
    int64_t ran_ns = engine->now_ns - attempt->started_ns;
    struct evicted *evicted = remember(engine, task);
    job->evictions++;
    job->evicted_ns += ran_ns;
    evicted->times++;
    evicted->lost_ns += ran_ns;
    evicted->at_ns = engine->now_ns;
    evicted->host = attempt->host->index;
    evicted->reason = stop->reason;
    evicted->left = stop->left;
    evicted->right = stop->right;
    evicted->by_job = stop->stop.by_job;
    evicted->by_stage = stop->stop.by_stage;
    evicted->by_task = stop->stop.by_task;
}

void eviction_do(struct engine *engine, const struct eviction *eviction)
{
    struct attempt *attempt = eviction->attempt;
    struct task *task = attempt->task;
    const struct task *by = eviction->by;
    struct decision *stop = attempt_stop(engine, attempt, eviction->reason, true);
    stop->left = eviction->left;
    stop->right = eviction->right;
    stop->stop.by_job = by ? by->stage->job->number : 0;
    stop->stop.by_stage = by ? by->stage->index : 0;
    stop->stop.by_task = by ? by->index : 0;
    count(engine, attempt, stop);
    tell_attempt_returned(engine, attempt);
    attempt_orphan(engine, attempt);
    if (!task->attempts)
        task_requeue(engine, task);
}
