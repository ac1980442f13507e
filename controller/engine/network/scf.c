/* Shortest Coflow first by the bytes that are left of it, as reports of received bytes tell: what
 * NEAT's simulations run on. */
#include "controller/engine/network/network.h"

static enum unit_order order(enum mode mode)
{
    (void)mode;
    return ORDER_COFLOW;
}

static uint64_t level_now(const struct engine *engine, const struct stage *stage)
{
    uint64_t all = stage->coflow_fixed ? stage->coflow_bytes : stage->total_bytes;
    uint64_t left = all > stage->received_bytes ? all - stage->received_bytes : 0;
    return level_table_level(&engine->config.coflow, left);
}

static void levels(const struct engine *engine, const struct stage *stage, struct attempt *attempt)
{
    attempt->level[ORDER_COFLOW] = attempt->level[ORDER_MACROFLOW] = level_now(engine, stage);
}

static void received(struct engine *engine, struct stage *stage)
{
    uint64_t level = level_now(engine, stage);
    if (stage->one_level && level == stage->common_level)
        return;
    stage->one_level = true;
    stage->common_level = level;
    struct attempt *attempt;
    TAILQ_FOREACH (attempt, &stage->attempts, of_stage) {
        if (attempt->level[ORDER_COFLOW] == level)
            continue;
        attempt->level[ORDER_COFLOW] = attempt->level[ORDER_MACROFLOW] = level;
        struct decision *decision = engine_decide(engine, DECISION_LEVEL, REASON_RECEIVED,
                                                  clamp_i64(stage->received_bytes), 0);
        decision->level.attempt = attempt->number;
        decision->level.host = attempt->host->index;
        decision->level.coflow_level = decision->level.macroflow_level = level;
        engine->counters.level_changes++;
    }
}

const struct network_policy network_scf = {
    .policy = {.name = "scf"},
    .order = order,
    .levels = levels,
    .received = received,
};
