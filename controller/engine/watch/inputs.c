#include "controller/engine/watch/inputs.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/watch/framework_sizes.h"

void inputs_restore(struct engine *engine, struct attempt *attempt)
{
    struct sorted_key key = {attempt->number, 0, 0};
    sorted_place(&engine->unmeasured, &attempt->of_unmeasured, key, 0);
}

void inputs_changed(struct engine *engine, struct task *task)
{
    if (!engine_follows(engine, RULE_INPUTS_WAIT) || engine->suspended)
        return;
    for (struct attempt *attempt = task->attempts; attempt; attempt = attempt->next_of_task)
        inputs_restore(engine, attempt);
}

void inputs_go_on(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = sorted_first(&engine->unmeasured)) && engine_may_look(engine)) {
        struct attempt *attempt = container_of(node, struct attempt, of_unmeasured);
        sorted_remove(&engine->unmeasured, node);
        engine->step_looks += LOOKS_OF_CHANGE + attempt_measure_inputs(attempt);
        sizes_follow_attempt(engine, attempt);
    }
}
