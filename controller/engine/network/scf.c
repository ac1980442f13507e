/* Shortest Coflow first by its bytes left, as reports of received bytes tell: the network of NEAT's
 * simulations. */
#include "controller/engine/base/ground.h"
#include "controller/engine/base/say.h"
#include "controller/engine/network/network.h"

#include <inttypes.h>

static enum transfer_order order(enum mode mode)
{
    (void)mode;
    return ORDER_COFLOW;
}

static uint64_t left_of(const struct stage *stage)
{
    uint64_t all = stage->coflow_fixed ? stage->coflow_bytes : stage->total_bytes;
    return all > stage->received_bytes ? all - stage->received_bytes : 0;
}

static uint64_t level_now(const struct engine *engine, const struct stage *stage)
{
    return level_table_level(&engine->config.coflow, left_of(stage));
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
    struct stage *stage = attempt->task->stage;
    network_follow(engine, stage, level_now(engine, stage), clamp_i64(stage->received_bytes), 0);
}

static void explain(const struct engine *engine, const struct attempt *attempt,
                    struct engine_explanation *e)
{
    (void)engine;
    const struct stage *stage = attempt->task->stage;
    say(e,
        "Its level is %" PRIu64 ", by the %" PRIu64
        " bytes that are left of its Coflow: the fewer, the sooner.",
        attempt->level[ORDER_COFLOW], left_of(stage));
}

static const struct policy_reason reasons[] = {{DECISION_LEVEL, REASON_RECEIVED, NULL,
                                                "bytes that its Coflow has received",
                                                "threshold that they passed", NULL},
                                               {0}};

const struct network_policy network_scf = {
    .policy = {.name = "scf",
               .state[POLICY_STAGE] = NETWORK_STAGE_STATE,
               .reasons = reasons,
               .hears.received = received},
    .order = order,
    .levels = levels,
    .urgency = urgency,
    .explain = explain,
};
