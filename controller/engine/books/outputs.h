/* Counts per host the outputs that have readers. Private to controller/engine.
 *
 * Outputs of a stage without children are not counted. With its first child (a framework may report
 * one when all tasks are done) they are; those beyond step_tasks_max follow in later steps, in
 * order of tasks. Without RULE_KEEPS_WAIT all are counted in one step. O(1) each, as in spread.h.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* The task's output on the host, which its stage's children read, comes or goes. Does nothing while
 * it is not counted yet. */
void outputs_hold(struct engine *engine, const struct task *task, struct host *host, bool add);
/* The stage has its first child. */
void outputs_keep(struct engine *engine, struct stage *stage);
/* Continues with stages whose outputs are not all counted yet, of the application whose turn it is
 * (facts/backlog_turns.h) the oldest job's first. */
void outputs_go_on(struct engine *engine);
/* For load, before any of its tasks is done: tasks from `next` on are not counted yet. */
void outputs_restore(struct engine *engine, struct stage *stage, uint32_t next);
