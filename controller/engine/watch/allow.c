#include "controller/engine/watch/allow.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/limit.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/watch/gate.h"
#include "controller/engine/watch/lapse.h"

static void set_timer(struct engine *engine, struct attempt *attempt, int64_t until_ns)
{
    struct sorted_key key = {(uint64_t)until_ns, attempt->number, 0};
    sorted_place(&engine->allow_timers, &attempt->allow_timer, key, 0);
}

void allow_restore(struct engine *engine, struct attempt *attempt, int64_t until_ns)
{
    attempt->allowed_until_ns = until_ns;
    if (attempt->task) {
        attempt->task->stage->framework->allowed++;
        attempt->task->stage->job->n_allowed++;
        limit_count(attempt->task->stage->job, 1);
        attempt_share_time(engine, attempt);
    }
    set_timer(engine, attempt, attempt->stopping ? 0 : until_ns);
}

void allow_give(struct engine *engine, struct attempt *attempt, const struct claim *claim)
{
    allow_restore(engine, attempt, engine->now_ns + engine->config.allow_ns);
    struct decision *decision =
        engine_decide(engine, DECISION_ALLOW, claim->reason, claim->left, claim->right);
    decision->allow.job = attempt->job_number;
    decision->allow.stage = attempt->stage_index;
    decision->allow.host = attempt->host->index;
    decision->allow.count = 1;
    decision->allow.allow = attempt->number;
    decision->allow.task = attempt->task_index;
    decision->allow.unit = attempt->unit;
    decision->allow.coflow_level = attempt->level[ORDER_COFLOW];
    decision->allow.macroflow_level = attempt->level[ORDER_MACROFLOW];
    decision->allow.input_bytes = attempt->remote_bytes;
    decision->allow.until_ns = attempt->allowed_until_ns;
    engine->counters.allows++;
}

static void say_end(struct engine *engine, const struct attempt *allow, enum reason reason,
                    int64_t left)
{
    struct decision *decision = engine_decide(engine, DECISION_ALLOW_END, reason, left, 0);
    decision->allow_end.allow = allow->number;
    decision->allow_end.job = allow->job_number;
    decision->allow_end.stage = allow->stage_index;
    decision->allow_end.host = allow->host->index;
}

/* WHY half of its time for late reports: a framework that follows allows reports at once. */
static bool is_wasted(const struct engine *engine, const struct attempt *allow, enum reason reason)
{
    switch (reason) {
    case REASON_UNKNOWN_HOST:
    case REASON_SOURCE_LOST:
        return false;
    case REASON_ELSEWHERE:
    case REASON_NO_BLOCK_THERE:
    case REASON_ROOM_GONE:
    case REASON_INPUT_LOST:
        return engine->now_ns - allow->started_ns >= engine->config.allow_ns / 2;
    default:
        return true;
    }
}

void allow_withdraw(struct engine *engine, struct attempt *attempt, enum reason reason)
{
    if (attempt->stopping)
        return;
    attempt->stopping = true;
    if (attempt->task && is_wasted(engine, attempt, reason))
        lapse_unused(engine, attempt->task->stage);
    say_end(engine, attempt, reason, 0);
    set_timer(engine, attempt, 0);
}

struct attempt *allow_used_by(const struct engine *engine, const struct task *task,
                              const struct host *host, uint64_t named)
{
    struct attempt *attempt = named && task ? attempt_find(engine, named) : NULL;
    if (attempt && attempt->allowed_until_ns && !attempt->stopping && attempt->task &&
        attempt->task->stage == task->stage)
        return attempt;
    bool runs = false;
    for (attempt = task ? task->attempts : NULL; attempt; attempt = attempt->next_of_task) {
        if (attempt->allowed_until_ns && !attempt->stopping)
            return attempt;
        runs = true;
    }
    if (!task || runs || task_state(task) == TASK_DONE)
        return NULL;
    TAILQ_FOREACH (attempt, &task->stage->attempts, of_stage)
        if (attempt->allowed_until_ns && !attempt->stopping && attempt->host == host)
            return attempt;
    return NULL;
}

/* Its task waits again unless an attempt of it runs. */
static void end(struct engine *engine, struct attempt *allow)
{
    struct stage *stage = allow->task ? allow->task->stage : NULL;
    attempt_end(engine, allow);
    if (stage)
        gate_rest(engine, stage);
}

void allow_settle(struct engine *engine, struct attempt *allow, const struct attempt *by)
{
    say_end(engine, allow, REASON_USED, clamp_i64(by->number));
    engine->counters.allows_used++;
    lapse_used(engine, allow->task->stage);
    end(engine, allow);
}

static void end_unused(struct engine *engine, struct attempt *allow)
{
    struct stage *stage = allow->task->stage;
    int64_t since = allow->started_ns;
    say_end(engine, allow, REASON_UNUSED, engine->now_ns - since);
    engine->counters.allows_unused++;
    lapse_unused(engine, stage);
    end(engine, allow);
    gate_wasted(engine, stage, since);
    if (gate_is_shut(stage) && ++stage->framework->unused >= ALLOW_UNUSED_MAX)
        gate_open(engine, stage, REASON_UNUSED, stage->framework->unused);
}

static void expire(struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->allow_timers);
         node && (int64_t)node->key.a <= engine->now_ns;
         node = sorted_first(&engine->allow_timers)) {
        struct attempt *allow = container_of(node, struct attempt, allow_timer);
        if (allow->stopping || !allow->task)
            end(engine, allow);
        else
            end_unused(engine, allow);
    }
}

static int64_t deadline_ns(const struct engine *engine)
{
    const struct sorted_node *node = sorted_first(&engine->allow_timers);
    return node ? (int64_t)node->key.a : INT64_MAX;
}

static void forget(struct engine *engine, struct attempt *attempt)
{
    sorted_remove(&engine->allow_timers, &attempt->allow_timer);
}

const struct listener allow_hears = {.allow_unwanted = allow_withdraw,
                                     .attempt_over = forget,
                                     .expire = expire,
                                     .deadline_ns = deadline_ns};
