/* Stages whose claims may not commit. Private to controller/engine.
 *
 * Of a claim that the commit policy refuses, the whole stage leaves the queues: its tasks are not
 * ready, so nothing of it is proposed again in this step, and what comes next is asked. It is
 * *held* for the policy's reason, until the policy says that it may now be answered otherwise
 * (refusal_ask_again), and for hold_max at most; then it is ready again, and asked.
 *
 * WHY the stage: its other tasks want the same of the same hosts. WHY over the end of the step: a
 * stage may have 10⁶ tasks, which leave the queues once for each answer of the policy, not in each
 * step. Taking them out costs O(log n) for each, and counts for starts of the step; they come back
 * in portions (stage.h). */
#pragma once

#include "controller/engine/policy/policy.h"

/* WHY it is no more than this: the stage is not open meanwhile (stage.h). */
struct refusal {
    struct stage *stage;
    struct policy_why why;
    int64_t since_ns, due_ns;
    struct sorted_node of_refusals; /* engine->refusals: by when it is asked again */
};

/* A claim of the stage was refused. */
void refusal_take(struct engine *engine, struct stage *stage, struct policy_why why);
/* For commit policies: the stage is asked in the next step that places, which is due at once;
 * nothing where none of its claims was refused. O(log n). */
void refusal_ask_again(struct engine *engine, struct stage *stage);
/* All are: another policy says what may commit. O(refused stages · log n). */
void refusal_ask_all(struct engine *engine);
/* Those that are due are ready again: after the events of a step. */
void refusal_go_on(struct engine *engine);
/* For load: the refusal stands as it was. */
void refusal_restore(struct engine *engine, struct stage *stage, const struct refusal *of);

extern const struct listener refusal_hears;
