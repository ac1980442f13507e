/* How many tasks a framework's stage has. Private to controller/engine.
 *
 * A stage that is announced with more tasks than one step may make (step_tasks_max) gets the others
 * in the next ones; they are counted at once, and the stage counts as announced when all are there.
 * A fact about one of them makes all up to it. WHY then at once: what is true of it must be kept.
 *
 * Room is taken for more tasks than are told of, so that those that are there are moved seldom:
 * none are where they are many. Only what is told of is charged (account.h). Without RULE_GROWS
 * tasks are made in one step, and room is charged. */
#pragma once

#include "controller/engine/base/state.h"

enum { FRAMEWORK_TASKS_MAX = 1 << 20 }; /* of a stage */

/* The task that a fact speaks of, made if need be; NULL: beyond a bound, and the fact is counted as
 * ignored. Tasks are moved when a stage grows: pointers to them do not stay. */
struct task *framework_find_task(struct engine *engine, struct stage *stage, uint32_t index);
/* It is true, and there is no place for it: NULL. */
void *framework_beyond(struct engine *engine);

/* The stage is announced with so many tasks, at least 1. */
void growing_begin(struct engine *engine, struct stage *stage, uint32_t n);
/* Goes on with those that could not be made at once, the oldest job's first, as far as this step
 * may. */
void growing_go_on(struct engine *engine);
/* For load: so many were told of, more than there are; it is announced when they are there. */
bool growing_restore(struct engine *engine, struct stage *stage, uint32_t told, bool announces);

/* Those that are there, and those that were told of. */
static inline uint32_t framework_tasks_of(const struct stage *stage)
{
    return stage->n_tasks > stage->framework->told ? stage->n_tasks : stage->framework->told;
}
/* A fact on a stage may cost so many looks at a task's edge. */
uint64_t framework_work_max(const struct engine *engine);
