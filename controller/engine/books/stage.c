#include "controller/engine/books/stage.h"

#include "controller/engine/base/backlog.h"
#include "controller/engine/base/ground.h"
#include "controller/engine/base/job_stages.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/outputs.h"
#include "controller/engine/books/retry.h"
#include "controller/engine/books/split.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/policy/policy.h"

#include <stdlib.h>

uint64_t stage_coflow_bytes(const struct stage *of)
{
    const struct stage *stage = of->first;
    return stage->coflow_fixed ? stage->coflow_bytes : stage->total_bytes;
}

static void count_ready(struct engine *engine, struct stage *stage, int by)
{
    stage->n_ready += (uint32_t)by;
    if (stage->variant)
        return;
    if (stage->choice) {
        choice_count(stage->choice, by);
    } else {
        stage->bucket->n_ready += (uint32_t)by;
        stage->bucket->shape->n_ready += (uint64_t)(int64_t)by;
    }
    stage->job->n_ready += (uint64_t)(int64_t)by;
    engine->n_ready += (uint64_t)(int64_t)by;
}

/* Of a task that was ready when its stage closed: it stands in no queue any more. */
static void forget_queues(struct task *task)
{
    free(task->refs);
    task->refs = NULL;
    task->n_refs = task->candidates = 0;
    task->ready = task->ready_unlocated = (struct sorted_node){0};
}

static void set_state(struct task *task, enum task_state state)
{
    if (task->last_state == TASK_READY && task_state(task) != TASK_READY)
        forget_queues(task);
    task->last_state = state;
    task->readied_at = task->stage->closed;
}

static void queue_map(struct task *task)
{
    struct stage *stage = task->stage;
    if (!stage->ready_maps.n)
        sorted_insert(&stage->bucket->map_stages, &stage->of_maps,
                      (struct sorted_key){stage->index, 0, 0}, 0);
    stage->bucket->n_maps++;
    sorted_insert(&stage->ready_maps, &task->ready, (struct sorted_key){task->index, 0, 0}, 0);
}

static void unqueue_map(struct task *task)
{
    struct stage *stage = task->stage;
    sorted_remove(&stage->ready_maps, &task->ready);
    stage->bucket->n_maps--;
    if (!stage->ready_maps.n)
        sorted_remove(&stage->bucket->map_stages, &stage->of_maps);
}

static void queue_reduce(struct task *task)
{
    struct stage *stage = task->stage;
    struct sorted_key key = {task->bytes, task->index, 0};
    if (!stage->ready_reduces.n)
        TAILQ_INSERT_TAIL(&stage->bucket->reduce_stages, stage, of_bucket);
    sorted_insert(&stage->ready_reduces, &task->ready, key, 0);
}

static void unqueue_reduce(struct task *task)
{
    struct stage *stage = task->stage;
    sorted_remove(&stage->ready_reduces, &task->ready);
    if (!stage->ready_reduces.n)
        TAILQ_REMOVE(&stage->bucket->reduce_stages, stage, of_bucket);
}

/* In the queues of one variant. */
static void queue(struct engine *engine, struct task *task, int64_t ready_ns)
{
    set_state(task, TASK_READY);
    task->ready_ns = ready_ns;
    task->stage->readied++;
    if (task->bytes)
        queue_reduce(task);
    else
        queue_map(task);
    count_ready(engine, task->stage, 1);
    tell_task_ready(engine, task);
}

void task_queue_since(struct engine *engine, struct task *task, int64_t ready_ns)
{
    const struct stage *stage = task->stage;
    if (retry_take(engine, task))
        return;
    queue(engine, task, ready_ns);
    for (uint32_t i = 0; i < stage->n_others; i++)
        queue(engine, &stage->others[i]->tasks[task->index], ready_ns);
}

void task_queue(struct engine *engine, struct task *task)
{
    task_queue_since(engine, task, engine->now_ns);
}

void task_queue_anywhere(struct engine *engine, struct task *task)
{
    retry_leave(engine, task);
    task->retry->anywhere = true;
    task_queue_since(engine, task, task->ready_ns);
}

static void unqueue(struct engine *engine, struct task *task, enum task_state state)
{
    struct stage *stage = task->stage;
    if (task->bytes)
        unqueue_reduce(task);
    else
        unqueue_map(task);
    set_state(task, state);
    count_ready(engine, stage, -1);
    tell_task_unready(engine, task);
    if (!stage->n_ready)
        tell_stage_empty(engine, stage);
}

void task_unqueue(struct engine *engine, struct task *task, enum task_state state)
{
    const struct stage *stage = task->stage;
    unqueue(engine, task, state);
    for (uint32_t i = 0; i < stage->n_others; i++)
        unqueue(engine, &stage->others[i]->tasks[task->index], TASK_BLOCKED);
}

static bool parent_is_ready(const struct stage *stage, const struct edge *edge)
{
    const struct stage *parent = job_stage_at(stage->job, edge->parent);
    return edge->kind == EDGE_BARRIER ? parent->n_done == parent->n_tasks
                                      : parent->n_started == parent->n_tasks;
}

/* Whether a framework's stage may open; `parents`: none of its parents keeps it closed. */
static bool is_offered(const struct stage *stage, bool parents)
{
    const struct framework_stage *own = stage->framework;
    for (uint32_t i = 0; i < stage->n_edges; i++)
        parents = parents && job_stage_at(stage->job, stage->edges[i].parent)->framework->announced;
    return !own->left && !own->unskipped && (own->offered || (own->announced && parents));
}

static void count_missing(struct stage *stage)
{
    stage->parents_missing = 0;
    for (uint32_t i = 0; i < stage->n_edges; i++)
        stage->parents_missing += !parent_is_ready(stage, &stage->edges[i]);
}

static bool is_due(struct stage *stage)
{
    count_missing(stage);
    if (stage->refusal || stage->job->holder)
        return false;
    return stage->framework ? is_offered(stage, !stage->parents_missing) : !stage->parents_missing;
}

void stage_open_if_due(struct engine *engine, struct stage *stage)
{
    if (is_due(stage) && !stage->open) {
        stage->open = true;
        stage_reopen(engine, stage);
    } else {
        split_look(engine, stage);
    }
}

/* What a task of the stage costs: policies look up its block, and each map's bytes for it. */
static uint64_t cost_of_task(const struct stage *stage)
{
    uint64_t cost =
        LOOKS_OF_READYING * (1 + (uint64_t)stage->replicas_per_task) * variant_count(stage);
    for (uint32_t i = 0; i < stage->n_edges; i++)
        if (stage->edges[i].matrix)
            cost += job_stage_at(stage->job, stage->edges[i].parent)->n_tasks / 2;
    return cost;
}

static bool may_ready(const struct engine *engine)
{
    uint64_t most = engine->config.step_ready_max;
    return !most || engine->step_ready < most * LOOKS_OF_READYING;
}

static void stop_opening(struct engine *engine, struct stage *stage)
{
    sorted_remove(&engine->opening, &stage->of_opening);
    stage->opening = 0;
}

/* Makes tasks ready from where it stopped, as far as this step may. */
static void open_some(struct engine *engine, struct stage *stage)
{
    const uint64_t cost = cost_of_task(stage);
    uint32_t t = stage->opening;
    for (; t < stage->n_tasks && may_ready(engine); t++) {
        bool blocked = task_state(&stage->tasks[t]) == TASK_BLOCKED;
        engine->step_ready += blocked ? cost : 1;
        if (blocked)
            task_queue(engine, &stage->tasks[t]);
    }
    if (t == stage->n_tasks)
        stop_opening(engine, stage);
    else
        stage_restore_opening(engine, stage, t);
}

void stage_reopen(struct engine *engine, struct stage *stage)
{
    split_look(engine, stage);
    if (!stage->open)
        return;
    stage->opening = 0;
    open_some(engine, stage);
}

void stage_restore_opening(struct engine *engine, struct stage *stage, uint32_t task)
{
    struct sorted_key key = {stage->job->number, stage->index, 0};
    stage->opening = task;
    sorted_place(&engine->opening, &stage->of_opening, key, 0);
}

void stage_go_on(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = backlog_first(engine, &engine->opening)) && may_ready(engine))
        open_some(engine, container_of(node, struct stage, of_opening));
}

/* All its ready tasks leave together. */
static void queues_empty(struct stage *stage)
{
    struct bucket *bucket = stage->bucket;
    if (stage->ready_reduces.n)
        TAILQ_REMOVE(&bucket->reduce_stages, stage, of_bucket);
    bucket->n_maps -= (uint32_t)stage->ready_maps.n;
    sorted_remove(&bucket->map_stages, &stage->of_maps);
    stage->ready_reduces = stage->ready_maps = (struct sorted){0};
}

static void queues_withdraw(struct engine *engine, struct stage *stage)
{
    queues_empty(stage);
    if (!stage->n_ready)
        return;
    count_ready(engine, stage, -(int)stage->n_ready);
    tell_stage_empty(engine, stage);
}

void stage_withdraw(struct engine *engine, struct stage *stage)
{
    if (stage->framework) {
        sorted_remove(&engine->sizing, &stage->framework->of_sizing);
        sorted_remove(&engine->skipping, &stage->framework->of_skipping);
        sorted_remove(&engine->growing, &stage->framework->of_growing);
        sorted_remove(&engine->keeping, &stage->framework->of_keeping);
    }
    if (!stage->open)
        return;
    stage->open = false;
    stop_opening(engine, stage);
    struct stage *way;
    VARIANT_FOREACH (way, stage)
        queues_withdraw(engine, way);
    tell_stage_closed(engine, stage);
}

/* WHY no look at them: there may be 10⁶, and nobody else is served meanwhile. They are blocked as
 * soon as it counts as closed once more (task_state). */
static void close_queues(struct engine *engine, struct stage *stage)
{
    const uint32_t n = stage->n_ready;
    stage->closed++;
    if (!n)
        return;
    queues_empty(stage);
    count_ready(engine, stage, -(int)n);
    tell_ready_left(engine, stage);
    tell_stage_empty(engine, stage);
}

void stage_close(struct engine *engine, struct stage *stage)
{
    if (!stage->open)
        return;
    stage->open = false;
    stop_opening(engine, stage);
    retry_leave_all(engine, stage);
    struct stage *way;
    VARIANT_FOREACH (way, stage)
        close_queues(engine, way);
    split_look(engine, stage);
    tell_stage_closed(engine, stage);
}

static void children_look(struct engine *engine, struct stage *stage)
{
    for (uint32_t i = 0; i < stage->n_children; i++)
        stage_open_if_due(engine, job_stage_at(stage->job, stage->children[i]));
}

/* A task of the stage waits again: tasks pipelined behind it must not take the slots that it
 * needs. */
static void children_wait(struct engine *engine, struct stage *stage)
{
    for (uint32_t i = 0; i < stage->n_children; i++) {
        struct stage *child = job_stage_at(stage->job, stage->children[i]);
        if (!is_due(child))
            stage_close(engine, child);
    }
}

void stage_children_follow(struct engine *engine, struct stage *stage)
{
    children_wait(engine, stage);
    children_look(engine, stage);
}

/* Adds the task to what is left of its job, or subtracts it. */
static void count_left(struct task *task, bool left)
{
    struct job *job = task->stage->job;
    uint64_t work_ns = variant_work_ns(task);
    job->left_ns += left ? work_ns : -work_ns;
    job->left_bytes += left ? task->bytes : -task->bytes;
}

static void moved(struct engine *engine, struct task *task, enum task_state before)
{
    if ((before == TASK_DONE) != (task_state(task) == TASK_DONE))
        count_left(task, before == TASK_DONE);
    split_look(engine, task->stage);
    tell_task_moved(engine, task, before);
}

void task_run(struct engine *engine, struct task *task)
{
    struct stage *stage = task->stage;
    enum task_state before = task_state(task);
    if (before == TASK_RUNNING || before == TASK_DONE)
        return;
    if (before == TASK_READY) {
        stage->job->slot_wait_ns += engine->now_ns - task->ready_ns;
        task_unqueue(engine, task, TASK_RUNNING);
    } else if (retry_waits(task)) {
        stage->job->slot_wait_ns += engine->now_ns - task->ready_ns;
        retry_leave(engine, task);
    }
    set_state(task, TASK_RUNNING);
    task->started_ns = engine->now_ns;
    stage->n_running++;
    stage->n_again += task->again;
    stage->job->n_running++;
    if (++stage->n_started == stage->n_tasks)
        children_look(engine, stage);
    moved(engine, task, before);
}

void task_requeue(struct engine *engine, struct task *task)
{
    struct stage *stage = task->stage;
    if (task_state(task) != TASK_RUNNING)
        return;
    stage->n_running--;
    stage->n_again -= task->again;
    stage->job->n_running--;
    task->again = task->ran;
    set_state(task, TASK_BLOCKED);
    if (stage->n_started-- == stage->n_tasks)
        children_wait(engine, stage);
    if (stage->open)
        task_queue(engine, task);
    moved(engine, task, TASK_RUNNING);
}

void task_accept(struct engine *engine, struct task *task, uint64_t attempt, struct host *host)
{
    struct stage *stage = task->stage;
    struct job *job = stage->job;
    enum task_state before = task_state(task);
    if (before == TASK_READY)
        task_unqueue(engine, task, TASK_BLOCKED);
    retry_forget(engine, task);
    if (before == TASK_RUNNING) {
        stage->n_running--;
        stage->n_again -= task->again;
        job->n_running--;
    } else {
        stage->n_started++;
    }
    set_state(task, TASK_DONE);
    task->done_attempt = attempt;
    task->done_host = host ? host->index : ENGINE_NONE;
    if (host)
        outputs_hold(engine, task, host, true);
    stage->n_done++;
    job->n_done++;
    moved(engine, task, before);
    if (stage->n_done < stage->n_tasks)
        return;
    job->stages_done++;
    tell_stage_done(engine, stage);
    if (job->stages_done == job->n_stages && !stage->framework)
        job_finish(engine, job);
    else
        children_look(engine, stage);
}

void task_restore(struct engine *engine, struct task *task, enum task_state state,
                  uint64_t done_attempt, struct host *done_host)
{
    struct stage *stage = task->stage;
    struct job *job = stage->job;
    if (state == TASK_READY)
        task_queue(engine, task);
    else
        set_state(task, state);
    stage->n_started += state == TASK_RUNNING || state == TASK_DONE;
    stage->n_running += state == TASK_RUNNING;
    job->n_running += state == TASK_RUNNING;
    if (state != TASK_DONE)
        return;
    count_left(task, false);
    task->ran = true;
    task->done_attempt = done_attempt;
    task->done_host = done_host ? done_host->index : ENGINE_NONE;
    if (done_host)
        outputs_hold(engine, task, done_host, true);
    job->n_done++;
    job->stages_done += ++stage->n_done == stage->n_tasks;
}

bool stage_is_needed(const struct stage *stage)
{
    for (uint32_t i = 0; i < stage->n_children; i++) {
        const struct stage *child = job_stage_at(stage->job, stage->children[i]);
        if (child->n_done < child->n_tasks ||
            (child->framework && child->framework->told > child->n_tasks))
            return true;
    }
    return false;
}

/* Stops attempts that were still reading, except those that a lost host took with it and those that
 * their framework stops; tasks that have not started wait for the map. */
static void stop_readers(struct engine *engine, struct stage *stage)
{
    for (uint32_t i = 0; i < stage->n_children; i++) {
        struct stage *child = job_stage_at(stage->job, stage->children[i]);
        count_missing(child);
        stage_close(engine, child);
        split_look(engine, child);
        struct attempt *attempt, *next;
        TAILQ_FOREACH_SAFE (attempt, &child->attempts, of_stage, next) {
            if (attempt->state == ATTEMPT_COMPUTING || attempt->host->lost ||
                (attempt->foreign && !attempt->allowed_until_ns))
                continue;
            struct task *task = attempt->task;
            attempt_stop(engine, attempt, REASON_INPUT_LOST, true);
            attempt_orphan(engine, attempt);
            if (!task->attempts)
                task_requeue(engine, task);
        }
    }
}

void task_lose_slot(struct engine *engine, struct task *task)
{
    if (task_state(task) != TASK_DONE && !variant_has_room(task->stage))
        stop_readers(engine, task->stage);
}

void task_lose_output(struct engine *engine, struct task *task, bool readers)
{
    struct stage *stage = task->stage;
    struct host *host = cluster_host(engine, task->done_host);
    if (host)
        outputs_hold(engine, task, host, false);
    if (stage->n_done == stage->n_tasks)
        stage->job->stages_done--;
    stage->n_done--;
    stage->job->n_done--;
    stage->n_started--;
    task->done_attempt = 0;
    task->done_host = ENGINE_NONE;
    set_state(task, TASK_BLOCKED);
    task->again = task->ran;
    if (readers)
        stop_readers(engine, stage);
    if (stage->open)
        task_queue(engine, task);
    moved(engine, task, TASK_DONE);
}

void task_count_sums(struct task *task, int by)
{
    struct framework_job *sums = task->stage->job->framework;
    if (task->bytes)
        return;
    sums->maps += (uint64_t)(int64_t)by;
    if (by < 0)
        sums->work_ns -= task->compute_ns;
    else if (__builtin_add_overflow(sums->work_ns, task->compute_ns, &sums->work_ns))
        sums->work_ns = UINT64_MAX;
}
