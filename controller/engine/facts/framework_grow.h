/* How many tasks a framework's stage has. Private to controller/engine.
 *
 * A stage that is announced with more tasks than one step may make (step_tasks_max) gets the others
 * in later steps; all are counted at once, and the stage counts as announced when all are made. A
 * fact about one of them makes all up to it at once, so that nothing reported is lost. WHY that is
 * seldom many: who passes on what frameworks report lets a fact wait while more are missing than a
 * step may make (engine_growth), and has them made by EVENT_FRAMEWORK_GROW.
 *
 * Memory is allocated for more tasks than reported, so that tasks are moved seldom, and never where
 * they are many. Only reported tasks are charged (account.h). Without RULE_GROWS tasks are made in
 * one step, and the allocated ones are charged. */
#pragma once

#include "controller/engine/base/state.h"

/* The task that a fact is about, made if need be; NULL: beyond a bound, and the fact is counted as
 * ignored. A growing stage moves its tasks: pointers to them become invalid. */
struct task *framework_find_task(struct engine *engine, struct stage *stage, uint32_t index);
/* Counts a fact that is true but has no place: NULL. */
void *framework_beyond(struct engine *engine);

/* The stage is announced with n tasks, at least 1. */
void growing_begin(struct engine *engine, struct stage *stage, uint32_t n);
/* It has n tasks or more, without being announced for that. */
void growing_reach(struct engine *engine, struct stage *stage, uint32_t n);
/* Continues with tasks that could not be made at once, of the application whose turn it is
 * (backlog_turns.h) the oldest job's first, as far as this step may. */
void growing_go_on(struct engine *engine);
/* For load: `told` tasks were reported, more than are made; `announces`: the stage counts as
 * announced once they are. */
bool growing_restore(struct engine *engine, struct stage *stage, uint32_t told, bool announces);

/* Its made tasks, or its reported ones if these are more. */
static inline uint32_t framework_tasks_of(const struct stage *stage)
{
    return stage->n_tasks > stage->framework->told ? stage->n_tasks : stage->framework->told;
}
/* The most looks at a task's edge that a fact about a stage may cost. */
uint64_t framework_work_max(const struct engine *engine);
