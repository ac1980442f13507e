#include "controller/engine/books/rerun.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/retry.h"

static uint32_t most_hosts(const struct engine *engine)
{
    bool once = engine_follows(engine, RULE_RERUNS_ONCE) && engine->config.probe_ns;
    uint32_t most = once ? engine->config.reruns_max : 0;
    return most < RETRY_LOOKS ? most : RETRY_LOOKS;
}

static struct reruns *remember(struct engine *engine, struct task *task)
{
    if (!task->reruns)
        task->reruns = engine_allocate(
            engine, 1, sizeof(struct reruns) + most_hosts(engine) * sizeof(struct host *));
    return task->reruns;
}

static bool has(const struct reruns *reruns, const struct host *host)
{
    for (uint32_t i = 0; i < reruns->n; i++)
        if (reruns->hosts[i] == host)
            return true;
    return false;
}

static bool has_others(const struct task *task, const struct shape *shape)
{
    uint32_t hosts = shape->capable_hosts;
    for (uint32_t i = 0; i < task->reruns->n; i++)
        hosts -= task->reruns->hosts[i]->shapes[shape->index]->capable;
    return hosts > 0;
}

/* Whether another host could hold it on which none of its outputs was lost. */
static bool elsewhere(const struct task *task)
{
    const struct stage *stage = task->stage;
    bool others = has_others(task, stage->bucket->shape);
    for (uint32_t i = 0; i < stage->n_others; i++)
        others = others || has_others(task, stage->others[i]->bucket->shape);
    return others;
}

/* False: that host lost an output of the task before, so this one does not count. */
static bool counts(struct engine *engine, struct task *task)
{
    struct reruns *reruns = remember(engine, task);
    struct host *host = cluster_host(engine, task->done_host);
    if (has(reruns, host) && elsewhere(task)) {
        for (uint32_t i = 0; i < reruns->n; i++)
            retry_unread(engine, task, reruns->hosts[i]);
        return false;
    }
    if (host && !has(reruns, host))
        rerun_restore_host(engine, task, host);
    return true;
}

bool rerun_is_one_too_many(struct engine *engine, struct task *task)
{
    if (!engine->config.reruns_max || task->stage->framework || !counts(engine, task) ||
        ++task->reruns->counted < engine->config.reruns_max)
        return false;
    job_fail(engine, task->stage->job, REASON_TOO_MANY_RERUNS, task, task->done_attempt,
             task->reruns->counted);
    return true;
}

void rerun_restore(struct engine *engine, struct task *task, uint32_t counted)
{
    remember(engine, task)->counted = counted;
}

bool rerun_restore_host(const struct engine *engine, const struct task *task, struct host *host)
{
    struct reruns *reruns = task->reruns;
    if (!reruns || reruns->n == most_hosts(engine) || has(reruns, host))
        return false;
    reruns->hosts[reruns->n++] = host;
    return true;
}
