#include "controller/engine/facts/framework_skip.h"

#include "controller/engine/base/backlog.h"
#include "controller/engine/base/ground.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/facts/framework_grow.h"
#include "controller/engine/facts/outcome.h"
#include "controller/engine/watch/estimate.h"
#include "controller/engine/watch/gate.h"

static bool may_skip(const struct engine *engine)
{
    return !engine_follows(engine, RULE_SKIPS_WAIT) || engine_may_look(engine);
}

static void skip(struct engine *engine, struct task *task)
{
    const bool changes = task_state(task) != TASK_DONE;
    engine->counters.visits++;
    if (engine_follows(engine, RULE_SKIPS_WAIT))
        engine->step_looks += changes ? 1 + LOOKS_OF_CHANGE : 1;
    if (changes)
        outcome_accept(engine, task, 0, NULL);
}

/* Skips as many as this step may and as are made. Readers look when the last is done. */
static void skip_some(struct engine *engine, struct stage *stage)
{
    struct framework_stage *own = stage->framework;
    uint32_t next = own->skipping, left = own->unskipped;
    for (; left && next < stage->n_tasks && may_skip(engine); left--) {
        skip(engine, &stage->tasks[next]);
        next = next + 1 < framework_tasks_of(stage) ? next + 1 : 0;
    }
    skipping_restore(engine, stage, next, left);
    gate_seen(engine, stage);
}

/* WHY this does not restart a skipping in progress: reports that keep coming would keep the last
 * tasks from ever being skipped. */
void skipping_begin(struct engine *engine, struct stage *stage)
{
    struct framework_stage *own = stage->framework;
    own->skipping = own->unskipped ? own->skipping : 0;
    own->unskipped = framework_tasks_of(stage);
    skip_some(engine, stage);
}

void skipping_go_on(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = backlog_first(engine, &engine->skipping)) && engine_may_look(engine)) {
        struct stage *stage = container_of(node, struct framework_stage, of_skipping)->stage;
        skip_some(engine, stage);
        if (stage->framework->unskipped)
            return;
        stage_open_if_due(engine, stage);
        stage_children_follow(engine, stage);
        estimate_follow_job(engine, stage->job);
    }
}

void skipping_restore(struct engine *engine, struct stage *stage, uint32_t next, uint32_t unskipped)
{
    struct framework_stage *own = stage->framework;
    struct sorted_key key = {stage->job->number, stage->index, 0};
    own->skipping = next;
    own->unskipped = unskipped;
    if (unskipped)
        sorted_place(&engine->skipping, &own->of_skipping, key, 0);
    else
        sorted_remove(&engine->skipping, &own->of_skipping);
}
