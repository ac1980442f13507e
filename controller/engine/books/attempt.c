#include "controller/engine/books/attempt.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/job_stages.h"
#include "controller/engine/base/numbered.h"
#include "controller/engine/base/packed.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/late.h"
#include "controller/engine/books/limit.h"
#include "controller/engine/books/room.h"
#include "controller/engine/books/split.h"
#include "controller/engine/books/spread.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/users.h"
#include "controller/engine/policy/questions.h"
#include "lib/invariant.h"

#include <errno.h>
#include <stdlib.h>

struct attempt *attempt_find(const struct engine *engine, uint64_t number)
{
    return numbered_find(&engine->attempts, number);
}

struct remote {
    uint32_t host;
    uint64_t bytes;
};

static void add_remote(void *context, const struct engine_input *input)
{
    struct remote *remote = context;
    if (input->host != remote->host)
        remote->bytes += input->bytes;
}

/* The host where the map's output is, or is being made (pipelined edges). */
static void locate(const struct task *map, struct engine_input *ret_input)
{
    const struct attempt *live = map->attempts;
    const bool made = task_state(map) == TASK_DONE || !live;
    ret_input->host = made ? map->done_host : live->host->index;
    ret_input->attempt = made ? map->done_attempt : live->number;
}

/* Bytes of the maps' outputs for one reducer: from a `matrix`, or evenly. */
struct cells {
    const struct packed *matrix; /* NULL: evenly */
    uint64_t at, step;           /* of the first map, and from one map to the next */
    uint64_t part, more;         /* each map has `part` of them, the first `more` maps one more */
};

static struct cells cells_of(const struct edge *edge, const struct stage *parent,
                             const struct stage *stage, uint32_t reduce)
{
    if (!edge->bytes)
        return (struct cells){0};
    if (edge->matrix)
        return (struct cells){.matrix = edge->bytes, .at = reduce, .step = stage->n_tasks};
    uint64_t sum = packed_at(edge->bytes, reduce);
    return (struct cells){.part = sum / parent->n_tasks, .more = sum % parent->n_tasks};
}

static inline uint64_t cell_of(const struct cells *cells, uint32_t map)
{
    return cells->matrix ? packed_at(cells->matrix, cells->at + map * cells->step)
                         : cells->part + (map < cells->more);
}

/* WHY inlined: a task may have thousands of inputs, and its start reads them twice. */
static inline __attribute__((always_inline)) int
each_output(const struct task *task, void (*each)(void *, const struct engine_input *),
            void *context)
{
    const struct stage *stage = task->stage;
    int n = 0;
    for (uint32_t i = 0; i < stage->n_edges; i++) {
        const struct edge *edge = &stage->edges[i];
        const struct stage *parent = job_stage_at(stage->job, edge->parent);
        if (edge->late) {
            n += late_each_input(edge, task, locate, each, context);
            continue;
        }
        struct cells cells = cells_of(edge, parent, stage, task->index);
        struct engine_input input = {.stage = edge->parent};
        for (uint32_t m = 0; edge->bytes && m < parent->n_tasks; m++) {
            input.task = m;
            input.bytes = cell_of(&cells, m);
            if (!input.bytes)
                continue;
            locate(&parent->tasks[m], &input);
            each(context, &input);
            n++;
        }
    }
    return n;
}

static inline __attribute__((always_inline)) int
each_input(const struct attempt *attempt, void (*each)(void *, const struct engine_input *),
           void *context)
{
    const struct task *task = attempt->task;
    if (!task)
        return 0;
    if (attempt->block_host == ENGINE_NONE)
        return each_output(task, each, context);
    struct engine_input block = {attempt->block_host, true, ENGINE_NONE,
                                 ENGINE_NONE,         0,    task->input_bytes};
    each(context, &block);
    return 1 + each_output(task, each, context);
}

int task_outputs_read(const struct task *task,
                      void (*each)(void *context, const struct engine_input *input), void *context)
{
    return each_output(task, each, context);
}

bool task_reads_output(const struct task *task, uint32_t parent, uint32_t map)
{
    const struct stage *stage = task->stage;
    for (uint32_t i = 0; i < stage->n_edges; i++) {
        const struct edge *edge = &stage->edges[i];
        if (edge->parent != parent || edge->late || !edge->bytes)
            continue;
        struct cells cells = cells_of(edge, stage->job->stages[parent], stage, task->index);
        return map < stage->job->stages[parent]->n_tasks && cell_of(&cells, map);
    }
    return false;
}

int engine_inputs(const struct engine *engine, uint64_t number,
                  void (*each)(void *context, const struct engine_input *input), void *context)
{
    const struct attempt *attempt = attempt_find(engine, number);
    return attempt ? each_input(attempt, each, context) : -ENOENT;
}

static void count_messages(struct attempt *attempt, uint32_t inputs)
{
    uint32_t messages = 1 + inputs / ATTEMPT_INPUTS;
    if (attempt->state != ATTEMPT_SENT || attempt->foreign)
        return;
    attempt->host->sent += messages - attempt->messages;
    attempt->messages = messages;
}

uint32_t attempt_measure_inputs(struct attempt *attempt)
{
    struct remote remote = {attempt->host->index, 0};
    if (attempt->task && attempt->task->guessed) {
        attempt->remote_bytes = attempt->task->bytes;
        return 0;
    }
    uint32_t inputs = (uint32_t)each_input(attempt, add_remote, &remote);
    count_messages(attempt, inputs);
    attempt->remote_bytes = remote.bytes;
    return inputs;
}

void attempt_count_messages(struct attempt *attempt)
{
    attempt_measure_inputs(attempt);
}

/* WHY by number: lists that remembered the order of surprises would make a loaded dump decide
 * differently. */
static void join_task(struct attempt *attempt, struct task *task)
{
    attempt->job_number = task->stage->job->number;
    attempt->stage_index = task->stage->index;
    attempt->task_index = task->index;
    struct attempt **at = &task->attempts;
    while (*at && (*at)->number > attempt->number)
        at = &(*at)->next_of_task;
    attempt->next_of_task = *at;
    *at = attempt;
    struct attempt *before = TAILQ_LAST(&task->stage->attempts, attempts);
    while (before && before->number > attempt->number)
        before = TAILQ_PREV(before, attempts, of_stage);
    if (before)
        TAILQ_INSERT_AFTER(&task->stage->attempts, before, attempt, of_stage);
    else
        TAILQ_INSERT_HEAD(&task->stage->attempts, attempt, of_stage);
}

void attempt_set_state(struct engine *engine, struct attempt *attempt, enum attempt_state state)
{
    struct host *host = attempt->host;
    bool answered = attempt->state == ATTEMPT_SENT && state != ATTEMPT_SENT;
    attempt->state = state;
    if (!answered)
        return;
    bool took = host_takes(engine, host);
    assert(host->sent >= attempt->messages);
    host->sent -= attempt->messages;
    if (!took && host_takes(engine, host))
        host_touch(engine, host);
}

struct attempt *attempt_create(struct engine *engine, uint64_t number, struct task *task,
                               struct host *host, uint32_t unit, const struct resources *resources)
{
    struct attempt *attempt = engine_allocate(engine, 1, sizeof(*attempt));
    attempt->number = number;
    attempt->task = task;
    attempt->foreign = task && task->stage->framework;
    attempt->host = host;
    attempt->unit = unit;
    attempt->resources = *resources;
    attempt->block_host = ENGINE_NONE;
    TAILQ_INIT(&attempt->stalls);
    attempt->started_ns = engine->now_ns;
    numbered_put(engine, &engine->attempts, number, attempt);
    TAILQ_INSERT_TAIL(&host->attempts, attempt, on_host);
    attempt->messages = 1;
    host->sent++;
    host_occupy(engine, attempt, true);
    if (task) {
        join_task(attempt, task);
        room_enter(engine, attempt);
        spread_join(engine, attempt);
        at_most_count(engine, attempt, 1);
        users_hold(engine, attempt, true);
        tell_job_on_host(engine, task->stage->job, host);
    }
    policy_begin_attempt(engine, attempt);
    return attempt;
}

static void count_receiving(struct attempt *attempt, bool counts)
{
    attempt->task->stage->n_receiving += (uint32_t)counts - (uint32_t)attempt->counted;
    attempt->counted = counts;
}

void attempt_share_time(struct engine *engine, struct attempt *attempt)
{
    const struct task *task = attempt->task;
    count_receiving(attempt, attempt->receiving && !attempt->allowed_until_ns && !task->again);
    split_look(engine, task->stage);
}

void attempt_set_receiving(struct engine *engine, struct attempt *attempt, bool receiving)
{
    attempt->receiving = receiving;
    attempt->host->downlink_ours |= receiving;
    for (int order = 0; order < ORDERS; order++) {
        struct sorted_key key = {attempt->bytes[order], attempt->number, 0};
        if (receiving)
            sorted_place(&attempt->host->receiving[order], &attempt->by_size[order], key, 0);
        else
            sorted_remove(&attempt->host->receiving[order], &attempt->by_size[order]);
    }
    if (!attempt->task)
        return;
    attempt_share_time(engine, attempt);
    tell_attempt_moved(engine, attempt->task, attempt);
}

void attempt_orphan(struct engine *engine, struct attempt *attempt)
{
    if (!attempt->task)
        return;
    tell_attempt_leaves(engine, attempt);
    users_hold(engine, attempt, false);
    at_most_count(engine, attempt, -1);
    struct task *task = attempt->task;
    sorted_remove(&engine->unmeasured, &attempt->of_unmeasured);
    if (attempt->allowed_until_ns) {
        task->stage->framework->allowed--;
        task->stage->job->n_allowed--;
        limit_count(task->stage->job, -1);
    }
    task->ran |= !attempt->allowed_until_ns;
    count_receiving(attempt, false);
    split_look(engine, task->stage);
    struct attempt **at = &task->attempts;
    while (*at != attempt)
        at = &(*at)->next_of_task;
    *at = attempt->next_of_task;
    TAILQ_REMOVE(&task->stage->attempts, attempt, of_stage);
    attempt->task = NULL;
    spread_leave(attempt);
    tell_job_on_host(engine, task->stage->job, attempt->host);
    tell_attempt_moved(engine, task, attempt);
}

void attempt_destroy(struct engine *engine, struct attempt *attempt)
{
    attempt_orphan(engine, attempt);
    account_leave_attempt(engine, attempt);
    attempt_set_receiving(engine, attempt, false);
    tell_attempt_over(engine, attempt);
    policy_end_attempt(engine, attempt);
    host_occupy(engine, attempt, false);
    assert(attempt->state != ATTEMPT_SENT || attempt->host->sent >= attempt->messages);
    attempt->host->sent -= attempt->state == ATTEMPT_SENT ? attempt->messages : 0;
    TAILQ_REMOVE(&attempt->host->attempts, attempt, on_host);
    numbered_drop(&engine->attempts, attempt->number);
    free(attempt);
}

void attempt_measure(struct attempt *attempt)
{
    const struct task *task = attempt->task;
    bool block = attempt->block_host != ENGINE_NONE;
    attempt->bytes[ORDER_COFLOW] = task->bytes ? stage_coflow_bytes(task->stage)
                                   : block     ? task->input_bytes
                                               : 0;
    attempt->bytes[ORDER_MACROFLOW] = task->bytes + (block ? task->input_bytes : 0);
}

struct decision *attempt_stop(struct engine *engine, struct attempt *attempt, enum reason reason,
                              bool requeue)
{
    if (attempt->allowed_until_ns)
        tell_allow_unwanted(engine, attempt, reason);
    if (attempt->stopping || attempt->foreign)
        return NULL;
    attempt->stopping = true;
    struct decision *decision = engine_decide(engine, DECISION_STOP, reason, 0, 0);
    decision->stop.attempt = attempt->number;
    decision->stop.host = attempt->host->index;
    decision->stop.grace_ns = (uint64_t)engine->config.stop_grace_ns;
    decision->stop.requeue = requeue;
    engine->counters.stops++;
    return decision;
}

enum { LINE = 64 }; /* bytes in a cache line */

static void fetch(const void *from, size_t size)
{
    for (size_t at = 0; from && at < size; at += LINE)
        __builtin_prefetch((const char *)from + at);
}

/* Fetches what an event of the attempt is about to read. WHY: these are cold, and each is found by
 * way of the one before; fetched together, their misses overlap. */
static void fetch_all(const struct attempt *attempt)
{
    fetch(attempt, sizeof(*attempt));
    fetch(attempt->task, sizeof(*attempt->task));
    fetch(attempt->host, offsetof(struct host, kept));
    fetch(attempt->spread, sizeof(*attempt->spread));
    fetch(TAILQ_NEXT(attempt, on_host), LINE);
    fetch(attempt->on_host.tqe_prev, LINE);
    fetch(TAILQ_NEXT(attempt, of_stage), LINE);
    fetch(attempt->of_stage.tqe_prev, LINE);
}

struct attempt *attempt_known(struct engine *engine, const struct event *event)
{
    struct attempt *attempt = attempt_find(engine, event->attempt.attempt);
    if (attempt)
        fetch_all(attempt);
    bool runs = attempt && !attempt->allowed_until_ns;
    engine->counters.ignored_facts += !runs;
    return runs ? attempt : NULL;
}

void attempt_count_bytes(struct engine *engine, struct attempt *attempt, uint64_t total)
{
    if (total <= attempt->received_bytes)
        return;
    uint64_t more = total - attempt->received_bytes;
    attempt->received_bytes = total;
    if (!attempt->task)
        return;
    attempt->task->stage->received_bytes += more;
    tell_received(engine, attempt, more);
}

bool attempt_is_ours(const struct engine *engine, uint64_t number)
{
    uint64_t epoch = number >> 32;
    return epoch > 0 && epoch <= engine->config.epoch;
}

void attempt_end(struct engine *engine, struct attempt *attempt)
{
    struct task *task = attempt->task;
    struct host *host = attempt->host;
    attempt_destroy(engine, attempt);
    if (task && !task->attempts)
        task_requeue(engine, task);
    host_touch(engine, host);
}
