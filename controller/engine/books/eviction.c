#include "controller/engine/books/eviction.h"

#include "controller/engine/base/tell.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/stage.h"

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
    tell_attempt_returned(engine, attempt);
    attempt_orphan(engine, attempt);
    if (!task->attempts)
        task_requeue(engine, task);
}
