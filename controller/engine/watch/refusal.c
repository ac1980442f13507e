#include "controller/engine/watch/refusal.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/split.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/watch/gate.h"

#include <stdlib.h>

static void list(struct engine *engine, struct refusal *refusal)
{
    struct sorted_key key = {(uint64_t)refusal->due_ns, refusal->stage->job->number,
                             refusal->stage->index};
    sorted_place(&engine->refusals, &refusal->of_refusals, key, 0);
}

static void count_held(struct engine *engine, const struct stage *stage, int by)
{
    stage->job->held_stages += (uint32_t)by;
    engine->held_stages += (uint64_t)(int64_t)by;
}

/* As for any hold (hold.c). */
static void say(struct engine *engine, enum decision_kind kind, const struct stage *stage,
                struct policy_why why, int64_t until_ns)
{
    if (stage->framework && !gate_is_shut(stage))
        return;
    struct decision *decision = engine_decide(engine, kind, why.reason, why.left, why.right);
    decision->hold.job = stage->job->number;
    decision->hold.stage = stage->index;
    decision->hold.host = ENGINE_NONE;
    decision->hold.until_ns = until_ns;
    engine->counters.holds += kind == DECISION_HOLD;
}

void refusal_restore(struct engine *engine, struct stage *stage, const struct refusal *of)
{
    stage->refusal = engine_allocate(engine, 1, sizeof(*stage->refusal));
    *stage->refusal = *of;
    stage->refusal->stage = stage;
    stage->refusal->of_refusals = (struct sorted_node){0};
    list(engine, stage->refusal);
    count_held(engine, stage, 1);
    split_hold(engine, stage, true, of->why.reason);
}

void refusal_take(struct engine *engine, struct stage *stage, struct policy_why why)
{
    const struct refusal refusal = {.why = why,
                                    .since_ns = engine->now_ns,
                                    .due_ns = engine->now_ns + engine->config.hold_max_ns};
    engine->step_starts += stage->n_ready ? stage->n_ready : 1;
    stage_close(engine, stage);
    refusal_restore(engine, stage, &refusal);
    say(engine, DECISION_HOLD, stage, why, refusal.due_ns);
}

/* The stage is asked again, or has nothing to ask any more. */
static void end(struct engine *engine, struct stage *stage, enum reason reason)
{
    const struct refusal *refusal = stage->refusal;
    struct policy_why why = {.reason = reason, .left = engine->now_ns - refusal->since_ns};
    say(engine, DECISION_UNHOLD, stage, why, refusal->due_ns);
    sorted_remove(&engine->refusals, &stage->refusal->of_refusals);
    count_held(engine, stage, -1);
    free(stage->refusal);
    stage->refusal = NULL;
    split_hold(engine, stage, false, REASON_NONE);
}

void refusal_ask_again(struct engine *engine, struct stage *stage)
{
    if (!stage->refusal)
        return;
    stage->refusal->due_ns = engine->now_ns;
    list(engine, stage->refusal);
}

void refusal_ask_all(struct engine *engine)
{
    struct sorted_node *node = sorted_first(&engine->refusals), *next;
    for (; node; node = next) {
        next = sorted_next(node);
        refusal_ask_again(engine, container_of(node, struct refusal, of_refusals)->stage);
    }
}

void refusal_go_on(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = sorted_first(&engine->refusals)) && node->key.a <= (uint64_t)engine->now_ns) {
        struct refusal *refusal = container_of(node, struct refusal, of_refusals);
        struct stage *stage = refusal->stage;
        bool late = engine->now_ns - refusal->since_ns >= engine->config.hold_max_ns;
        engine->counters.visits++;
        engine->counters.holds_expired += late;
        end(engine, stage, late ? REASON_HOLD_EXPIRED : REASON_NONE);
        stage_open_if_due(engine, stage);
    }
}

static void job_withdrawn(struct engine *engine, struct job *job)
{
    for (uint32_t s = 0; engine->refusals.n && s < job->n_stages; s++)
        if (job->stages[s]->refusal)
            end(engine, job->stages[s], REASON_NONE);
}

static int64_t deadline_ns(const struct engine *engine)
{
    const struct sorted_node *node = sorted_first(&engine->refusals);
    return node ? (int64_t)node->key.a : INT64_MAX;
}

const struct listener refusal_hears = {.job_withdrawn = job_withdrawn, .deadline_ns = deadline_ns};
