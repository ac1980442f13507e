#include "controller/engine/watch/levels.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/framework_sizes.h"

void attempt_set_sizes(struct engine *engine, struct attempt *attempt)
{
    struct stage *stage = attempt->task->stage;
    if (!stage->coflow_fixed && !stage->framework) {
        stage->coflow_fixed = true;
        stage->coflow_bytes = stage->total_bytes;
    }
    attempt_measure(attempt);
    attempt_measure_inputs(attempt);
    if (stage->framework)
        sizes_set_levels(engine, attempt);
    else
        engine->network->levels(engine, stage, attempt);
}

void attempt_tell_levels(struct engine *engine, const struct attempt *attempt)
{
    struct decision *decision = engine_decide(engine, DECISION_LEVEL, REASON_ADOPTED,
                                              clamp_i64(attempt->bytes[ORDER_COFLOW]),
                                              clamp_i64(attempt->bytes[ORDER_MACROFLOW]));
    decision->level.attempt = attempt->number;
    decision->level.host = attempt->host->index;
    decision->level.coflow_level = attempt->level[ORDER_COFLOW];
    decision->level.macroflow_level = attempt->level[ORDER_MACROFLOW];
    engine->counters.level_changes++;
}
