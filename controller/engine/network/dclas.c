#include "controller/engine/base/ground.h"
#include "controller/engine/base/say.h"
#include "controller/engine/network/network.h"

#include <inttypes.h>

static enum transfer_order order(enum mode mode)
{
    return mode == MODE_SLOT_RICH ? ORDER_COFLOW : ORDER_MACROFLOW;
}

static uint64_t level_now(const struct engine *engine, const struct stage *stage)
{
    return level_table_level(&engine->config.dclas, stage->received_bytes);
}

static void levels(const struct engine *engine, const struct stage *stage, struct attempt *attempt)
{
    attempt->level[ORDER_COFLOW] = attempt->level[ORDER_MACROFLOW] = level_now(engine, stage);
}

/* Its stage's level. */
static struct sorted_key urgency(const struct engine *engine, const struct task *task,
                                 const uint64_t bytes[static ORDERS])
{
    (void)bytes;
    return (struct sorted_key){level_now(engine, task->stage), 0, 0};
}

static void received(struct engine *engine, struct attempt *attempt, uint64_t more_bytes)
{
    (void)more_bytes;
    const struct level_table *table = &engine->config.dclas;
    struct stage *stage = attempt->task->stage;
    uint64_t level = level_now(engine, stage);
    bool passed = table->levels && level;
    network_follow(engine, stage, level, clamp_i64(stage->received_bytes),
                   passed ? clamp_i64(table->threshold_bytes[level - 1]) : 0);
}

static void explain(const struct engine *engine, const struct attempt *attempt,
                    struct engine_explanation *e)
{
    (void)engine;
    say(e,
        "Its level is %" PRIu64 ": D-CLAS lowers it as the %" PRIu64
        " bytes that its Coflow has received pass thresholds.",
        attempt->level[ORDER_COFLOW], attempt->task->stage->received_bytes);
}

static const struct policy_reason reasons[] = {{DECISION_LEVEL, REASON_RECEIVED, NULL,
                                                "bytes that its Coflow has received",
                                                "threshold that they passed", NULL},
                                               {0}};

const struct network_policy network_dclas = {
    .policy = {.name = "dclas",
               .state[POLICY_STAGE] = NETWORK_STAGE_STATE,
               .reasons = reasons,
               .hears.received = received},
    .order = order,
    .levels = levels,
    .urgency = urgency,
    .explain = explain,
};
