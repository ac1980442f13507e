/* A stage's one level, which follows the bytes received. */
#include "controller/engine/base/ground.h"
#include "controller/engine/network/network.h"

static void tell(struct engine *engine, struct attempt *attempt, uint64_t level, int64_t left,
                 int64_t right)
{
    attempt->level[ORDER_COFLOW] = attempt->level[ORDER_MACROFLOW] = level;
    struct decision *decision = engine_decide(engine, DECISION_LEVEL, REASON_RECEIVED, left, right);
    decision->level.attempt = attempt->number;
    decision->level.host = attempt->host->index;
    decision->level.coflow_level = decision->level.macroflow_level = level;
    engine->counters.level_changes++;
}

void network_tell(struct engine *engine, struct stage *stage, uint64_t level, int64_t left,
                  int64_t right)
{
    struct network_stage *kept = stage->kept[QUESTION_NETWORK];
    struct attempt *attempt;
    kept->told = true;
    kept->level = level;
    TAILQ_FOREACH (attempt, &stage->attempts, of_stage)
        if (attempt->level[ORDER_COFLOW] != level || attempt->level[ORDER_MACROFLOW] != level)
            tell(engine, attempt, level, left, right);
}
