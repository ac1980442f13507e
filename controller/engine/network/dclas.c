#include "controller/engine/network/network.h"

static enum unit_order order(enum mode mode)
{
    return mode == MODE_SLOT_RICH ? ORDER_COFLOW : ORDER_MACROFLOW;
}

static void levels(const struct engine *engine, const struct stage *stage, struct attempt *attempt)
{
    (void)engine;
    attempt->level[ORDER_COFLOW] = attempt->level[ORDER_MACROFLOW] = stage->received_level;
}

static void received(struct engine *engine, struct stage *stage)
{
    const struct level_table *table = &engine->config.dclas;
    uint64_t level = level_table_level(table, stage->received_bytes);
    if (level <= stage->received_level)
        return;
    stage->received_level = level;
    stage->one_level = false;
    int64_t threshold = table->levels ? clamp_i64(table->threshold_bytes[level - 1]) : 0;
    struct attempt *attempt;
    TAILQ_FOREACH (attempt, &stage->attempts, of_stage) {
        attempt->level[ORDER_COFLOW] = attempt->level[ORDER_MACROFLOW] = level;
        struct decision *decision = engine_decide(engine, DECISION_LEVEL, REASON_RECEIVED,
                                                  clamp_i64(stage->received_bytes), threshold);
        decision->level.attempt = attempt->number;
        decision->level.host = attempt->host->index;
        decision->level.coflow_level = decision->level.macroflow_level = level;
        engine->counters.level_changes++;
    }
}

const struct network_policy network_dclas = {
    .policy = {.name = "dclas"},
    .order = order,
    .levels = levels,
    .received = received,
};
