/* Stages whose claims may not commit. Private to controller/engine.
 *
 * When the commit policy refuses a claim, its whole stage leaves the queues: its tasks are not
 * ready, so none is proposed again in this step, and the next claim is considered. The stage is
 * *held* for the policy's reason until the policy says that it may answer differently now
 * (refusal_ask_again), and for hold_max at most; then it is ready again, and asked.
 *
 * WHY the stage: its other tasks want the same of the same hosts. WHY beyond the step: a stage may
 * have 10⁶ tasks, which leave the queues once for each answer of the policy, not in each step.
 * Taking them out costs O(log n) each, and counts as starts of the step; they return in portions
 * (stage.h). */
#pragma once

#include "controller/engine/policy/policy.h"

/* WHY no more than this: the stage is not open meanwhile (stage.h). */
struct refusal {
    struct stage *stage;
    struct policy_why why;
    int64_t since_ns, due_ns;
    struct sorted_node of_refusals; /* engine->refusals, by the time when it is asked again */
};

/* A claim of the stage was refused. */
void refusal_take(struct engine *engine, struct stage *stage, struct policy_why why);
/* For commit policies: asks the stage again in the next step that places, which is due at once;
 * does nothing where none of its claims was refused. O(log n). */
void refusal_ask_again(struct engine *engine, struct stage *stage);
/* Asks all again: another commit policy is in force. O(refused stages · log n). */
void refusal_ask_all(struct engine *engine);
/* Makes those that are due ready again, after the events of a step. */
void refusal_go_on(struct engine *engine);
/* For load: restores the refusal. */
void refusal_restore(struct engine *engine, struct stage *stage, const struct refusal *of);

extern const struct listener refusal_hears;
