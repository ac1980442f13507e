#include "controller/engine/books/retry.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/variant.h"

#include <stdlib.h>

/* No host is ever in this era. */
#define PROVES_NOTHING UINT64_MAX

static struct tried *find(const struct task *task, const struct host *host)
{
    for (uint32_t i = 0; task->retry && i < task->retry->n; i++)
        if (task->retry->tried[i].host == host)
            return &task->retry->tried[i];
    return NULL;
}

bool retry_failed_on(const struct task *task, const struct host *host)
{
    return find(task, host);
}

/* Bound of the hosts that a task remembers: those where it may fail, those it may be lost with, and
 * those whose outputs cannot be read. */
static uint32_t most_tried(const struct engine *engine)
{
    const struct engine_config *config = &engine->config;
    uint64_t hosts = config->failures_max;
    hosts += config->hosts_count_once ? config->losses_max : 0;
    hosts += engine_follows(engine, RULE_RERUNS_ONCE) ? config->reruns_max : 0;
    return hosts < RETRY_LOOKS ? (uint32_t)hosts : RETRY_LOOKS;
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
    struct tried *there = find(task, host);
    if (!there && retry->n < most_tried(engine))
        retry->tried[retry->n++] = (struct tried){host, era};
    else if (there && there->era == PROVES_NOTHING && engine->config.hosts_count_once)
        there->era = era;
}

void retry_failed(struct engine *engine, struct task *task, struct host *host)
{
    if (task->stage->framework)
        return;
    add(engine, task, host, host->failing.era);
    task->retry->anywhere = false;
}

/* Hosts that could hold the task and on which it has not failed: of all that are up, or of those
 * without a failure since their last done attempt. */
static bool has_others(const struct task *task, const struct shape *shape, bool clean)
{
    uint32_t hosts = clean ? shape->clean_hosts : shape->capable_hosts;
    for (uint32_t i = 0; i < task->retry->n; i++) {
        const struct host_shape *there = task->retry->tried[i].host->shapes[shape->index];
        hosts -= clean ? there->clean : there->capable;
    }
    return hosts > 0;
}

static bool elsewhere(const struct task *task, bool clean)
{
    const struct stage *stage = task->stage;
    bool others = has_others(task, stage->bucket->shape, clean);
    for (uint32_t i = 0; i < stage->n_others; i++)
        others = others || has_others(task, stage->others[i]->bucket->shape, clean);
    return others;
}

bool retry_repeats(const struct engine *engine, const struct task *task, const struct host *host)
{
    return engine->config.hosts_count_once && retry_failed_on(task, host) && elsewhere(task, false);
}

/* WHY anywhere after the first: when a host crashes, all its tasks would leave the policies'
 * order. */
static void gone(struct engine *engine, struct task *task, struct host *host, uint64_t era)
{
    if (!engine->config.hosts_count_once || !engine->config.probe_ns)
        return;
    bool first = !task->retry, again = retry_failed_on(task, host);
    add(engine, task, host, era);
    if (first || again)
        task->retry->anywhere = first;
}

void retry_lost(struct engine *engine, struct task *task, struct host *host)
{
    gone(engine, task, host, PROVES_NOTHING);
}

void retry_ended(struct engine *engine, struct task *task, struct host *host)
{
    gone(engine, task, host, host->failing.era);
}

void retry_unread(struct engine *engine, struct task *task, struct host *host)
{
    add(engine, task, host, PROVES_NOTHING);
    task->retry->anywhere = false;
}

bool retry_waits(const struct task *task)
{
    const struct retry *retry = task->retry;
    return retry && retry->waits.in && retry->waits_at == task->stage->closed;
}

/* So many tasks more of the stage wait, and perhaps another first one. */
static void count(struct engine *engine, struct stage *stage, int64_t by)
{
    const struct sorted_node *first = sorted_first(&stage->retries);
    engine->n_retries += (uint64_t)by;
    stage->job->n_retries += (uint64_t)by;
    if (first)
        sorted_place(&engine->retries, &stage->of_retries, first->key, 0);
    else
        sorted_remove(&engine->retries, &stage->of_retries);
}

static void wait_here(struct engine *engine, struct task *task)
{
    struct stage *stage = task->stage;
    struct sorted_key key = {(uint64_t)task->ready_ns, stage->job->number,
                             (uint64_t)stage->index << 32 | task->index};
    task->retry->waits = (struct sorted_node){0};
    task->retry->waits_at = stage->closed;
    sorted_insert(&stage->retries, &task->retry->waits, key, 0);
    count(engine, stage, 1);
}

bool retry_take(struct engine *engine, struct task *task)
{
    if (!task->retry || task->retry->anywhere)
        return false;
    if (retry_waits(task))
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
    sorted_remove(&task->stage->retries, &task->retry->waits);
    count(engine, task->stage, -1);
}

void retry_leave_all(struct engine *engine, struct stage *stage)
{
    const int64_t n = (int64_t)stage->retries.n;
    stage->retries = (struct sorted){0};
    if (n)
        count(engine, stage, -n);
}

void retry_forget(struct engine *engine, struct task *task)
{
    retry_leave(engine, task);
    free(task->retry);
    task->retry = NULL;
}

static struct fit *room_of(struct engine *engine, const struct task *task,
                           const struct shape *shape, bool clean)
{
    struct sorted_node *node = sorted_first(&shape->by_load);
    for (int looks = 0; node && looks < RETRY_LOOKS; node = sorted_next(node), looks++) {
        struct fit *fit = container_of(node, struct fit, by_load);
        engine->counters.visits++;
        if (!retry_failed_on(task, fit->host) && !(clean && fit->host->failing.in_a_row) &&
            at_most_room(task->stage, fit->host))
            return fit;
    }
    return NULL;
}

/* In the first way that it has room for, as the task that stands for it; false: none. */
static bool room_for(struct engine *engine, const struct task *task, struct claim *ret_claim)
{
    bool clean = elsewhere(task, true);
    struct stage *way;
    VARIANT_FOREACH (way, task->stage) {
        ret_claim->task = &way->tasks[task->index];
        ret_claim->fit = room_of(engine, task, way->bucket->shape, clean);
        if (ret_claim->fit)
            return true;
    }
    return false;
}

static bool is_over(const struct engine *engine, const struct task *task)
{
    return engine->now_ns - task->ready_ns >= engine->config.hold_max_ns || !elsewhere(task, false);
}

/* A walk over the tasks that wait, in order, from stage to stage. */
struct walk {
    struct sorted_node *stage; /* the next one */
    struct {
        const struct stage *of;
        struct sorted_node *task; /* the next one of that stage; NULL: it has no more */
    } at[RETRY_LOOKS];
    uint32_t n;
};

/* WHY it looks for the stage: one whose first task left stands behind others now, and would come a
 * second time. */
static bool is_new(const struct walk *walk, const struct stage *stage)
{
    for (uint32_t i = 0; i < walk->n; i++)
        if (walk->at[i].of == stage)
            return false;
    return true;
}

/* The next stage that is not walked yet; NULL: none. */
static struct stage *next_stage(struct walk *walk)
{
    for (; walk->stage; walk->stage = sorted_next(walk->stage)) {
        struct stage *stage = container_of(walk->stage, struct stage, of_retries);
        if (is_new(walk, stage))
            return stage;
    }
    return NULL;
}

/* NULL: no more. It may leave before the next call, which is one of RETRY_LOOKS at most: each
 * begins one stage more at most. */
static struct task *walk_next(struct walk *walk)
{
    struct sorted_node **first = NULL, *node;
    struct stage *stage = next_stage(walk);
    for (uint32_t i = 0; i < walk->n; i++)
        if (walk->at[i].task &&
            (!first || sorted_compare(walk->at[i].task->key, (*first)->key) < 0))
            first = &walk->at[i].task;
    if (stage && (!first || sorted_compare(walk->stage->key, (*first)->key) < 0)) {
        walk->stage = sorted_next(walk->stage);
        walk->at[walk->n].of = stage;
        first = &walk->at[walk->n++].task;
        *first = sorted_first(&stage->retries);
    }
    if (!first)
        return NULL;
    node = *first;
    *first = sorted_next(node);
    return container_of(node, struct retry, waits)->task;
}

bool retry_pick(struct engine *engine, struct claim *ret_claim)
{
    struct task *task;
    if (!engine->retries.n)
        return false;
    struct walk walk = {.stage = sorted_first(&engine->retries)};
    for (int looks = 0; looks < RETRY_LOOKS && (task = walk_next(&walk)); looks++) {
        if (is_over(engine, task)) {
            task_queue_anywhere(engine, task);
            continue;
        }
        if (!room_for(engine, task, ret_claim))
            continue;
        ret_claim->reason = REASON_RETRY;
        ret_claim->left = task->retry->n;
        ret_claim->right = ret_claim->fit->host->running;
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
    add(engine, task, host, proves ? host->failing.era : PROVES_NOTHING);
}
