#include "controller/engine/books/retry.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/stage.h"

#include <stdlib.h>

bool retry_failed_on(const struct task *task, const struct host *host)
{
    for (uint32_t i = 0; task->retry && i < task->retry->n; i++)
        if (task->retry->tried[i].host == host)
            return true;
    return false;
}

/* Hosts that a task remembers. */
static uint32_t most_tried(const struct engine *engine)
{
    uint32_t failures = engine->config.failures_max;
    return failures < RETRY_LOOKS ? failures : RETRY_LOOKS;
}

static struct retry *remember(struct engine *engine, struct task *task)
{
    if (!task->retry) {
        size_t tried = most_tried(engine) * sizeof(struct tried);
        task->retry = engine_allocate(engine, 1, sizeof(struct retry) + tried);
        task->retry->task = task;
    }
    return task->retry;
}

static void add(struct engine *engine, struct task *task, struct host *host, uint64_t era)
{
    struct retry *retry = remember(engine, task);
    if (!retry_failed_on(task, host) && retry->n < most_tried(engine))
        retry->tried[retry->n++] = (struct tried){host, era};
}

void retry_failed(struct engine *engine, struct task *task, struct host *host)
{
    if (task->stage->framework)
        return;
    add(engine, task, host, host->failing.era);
    task->retry->anywhere = false;
}

/* Hosts on which it has not failed that could hold it: among those without a failure since something
 * was done there, or among all that are up. */
static bool elsewhere(const struct task *task, bool clean)
{
    const struct shape *shape = task->stage->bucket->shape;
    uint32_t hosts = clean ? shape->clean_hosts : shape->capable_hosts;
    for (uint32_t i = 0; i < task->retry->n; i++) {
        const struct host_shape *there = task->retry->tried[i].host->shapes[shape->index];
        hosts -= clean ? there->clean : there->capable;
    }
    return hosts > 0;
}

bool retry_waits(const struct task *task)
{
    return task->retry && task->retry->waits.in;
}

static void wait_here(struct engine *engine, struct task *task)
{
    struct sorted_key key = {(uint64_t)task->ready_ns, task->stage->job->number,
                             (uint64_t)task->stage->index << 32 | task->index};
    sorted_insert(&engine->retries, &task->retry->waits, key, 0);
    task->stage->job->n_retries++;
}

bool retry_take(struct engine *engine, struct task *task)
{
    if (!task->retry || task->retry->anywhere)
        return false;
    if (task->retry->waits.in)
        return true;
    if (!elsewhere(task, false))
        return false;
    task->ready_ns = engine->now_ns;
    task->stage->readied++;
    wait_here(engine, task);
    return true;
}

void retry_leave(struct engine *engine, struct task *task)
{
    if (!retry_waits(task))
        return;
    sorted_remove(&engine->retries, &task->retry->waits);
    task->stage->job->n_retries--;
}

void retry_withdraw(struct engine *engine, struct job *job)
{
    struct sorted_node *node = sorted_first(&engine->retries), *next;
    for (; node && job->n_retries; node = next) {
        struct retry *retry = container_of(node, struct retry, waits);
        next = sorted_next(node);
        if (retry->task->stage->job == job)
            retry_leave(engine, retry->task);
    }
}

void retry_forget(struct engine *engine, struct task *task)
{
    retry_leave(engine, task);
    free(task->retry);
    task->retry = NULL;
}

static struct fit *room_for(struct engine *engine, const struct task *task)
{
    const struct shape *shape = task->stage->bucket->shape;
    bool clean = elsewhere(task, true);
    struct sorted_node *node = sorted_first(&shape->by_load);
    for (int looks = 0; node && looks < RETRY_LOOKS; node = sorted_next(node), looks++) {
        struct fit *fit = container_of(node, struct fit, by_load);
        engine->counters.visits++;
        if (!retry_failed_on(task, fit->host) && !(clean && fit->host->failing.in_a_row))
            return fit;
    }
    return NULL;
}

static bool is_over(const struct engine *engine, const struct task *task)
{
    return engine->now_ns - task->ready_ns >= engine->config.hold_max_ns || !elsewhere(task, false);
}

bool retry_pick(struct engine *engine, struct claim *ret_claim)
{
    struct sorted_node *node = sorted_first(&engine->retries), *next;
    for (int looks = 0; node && looks < RETRY_LOOKS; node = next, looks++) {
        struct task *task = container_of(node, struct retry, waits)->task;
        next = sorted_next(node);
        if (is_over(engine, task)) {
            task_queue_anywhere(engine, task);
            continue;
        }
        struct fit *fit = room_for(engine, task);
        if (!fit)
            continue;
        *ret_claim = (struct claim){task, fit, REASON_RETRY, task->retry->n, fit->host->running};
        return true;
    }
    return false;
}

int64_t retry_deadline_ns(const struct engine *engine)
{
    const struct sorted_node *node = sorted_first(&engine->retries);
    return node ? (int64_t)node->key.a + engine->config.hold_max_ns : INT64_MAX;
}

void retry_restore(struct engine *engine, struct task *task, bool waits, bool anywhere)
{
    remember(engine, task)->anywhere = anywhere;
    if (waits)
        wait_here(engine, task);
}

void retry_restore_tried(struct engine *engine, struct task *task, struct host *host, bool proves)
{
    add(engine, task, host, proves ? host->failing.era : UINT64_MAX);
}
