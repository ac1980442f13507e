#include "controller/engine/commit/start.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/watch/allow.h"
#include "controller/engine/watch/failing.h"
#include "controller/engine/watch/hold.h"
#include "controller/engine/watch/levels.h"
#include "controller/engine/watch/source.h"

/* WHY a loop: an inventory may hold a number of this epoch that was never given. */
static uint64_t next_number(struct engine *engine)
{
    uint64_t number;
    do {
        number = (uint64_t)engine->config.epoch << 32 | (uint32_t)++engine->attempt_counter;
    } while (attempt_find(engine, number));
    return number;
}

static void say_start(struct engine *engine, const struct attempt *attempt,
                      const struct claim *claim)
{
    struct decision *decision =
        engine_decide(engine, DECISION_START, claim->reason, claim->left, claim->right);
    decision->start.attempt = attempt->number;
    decision->start.job = attempt->job_number;
    decision->start.stage = attempt->stage_index;
    decision->start.task = attempt->task_index;
    decision->start.host = attempt->host->index;
    decision->start.unit = attempt->unit;
    decision->start.resources = attempt->resources;
    decision->start.coflow_level = attempt->level[ORDER_COFLOW];
    decision->start.macroflow_level = attempt->level[ORDER_MACROFLOW];
    decision->start.input_bytes = attempt->remote_bytes;
    decision->start.variant = attempt->variant;
    engine->counters.starts++;
}

struct attempt *attempt_start(struct engine *engine, const struct claim *claim)
{
    const struct stage *way = claim->task->stage;
    struct task *task = variant_first(claim->task);
    struct host *host = claim->fit->host;
    uint64_t number = next_number(engine);
    const struct resources *demand = &way->bucket->shape->demand;
    task_run(engine, task);
    struct attempt *attempt = attempt_create(engine, number, task, host, claim->fit->unit, demand);
    attempt->variant = way->variant;
    source_set_block(engine, attempt, source_choose(engine, task, host, number));
    if (host->failing.suspect)
        failing_started(engine, attempt);
    attempt->reason = claim->reason;
    attempt->left = claim->left;
    attempt->right = claim->right;
    attempt_set_sizes(engine, attempt);
    attempt_set_receiving(engine, attempt, attempt->remote_bytes > 0);
    if (attempt->foreign)
        allow_give(engine, attempt, claim);
    else
        say_start(engine, attempt, claim);
    host_draw_tie(engine, host);
    host_touch(engine, host);
    hold_stage_served(engine, task->stage);
    return attempt;
}
