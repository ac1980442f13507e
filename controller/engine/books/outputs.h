/* Outputs that somebody reads, counted where they are. Private to controller/engine.
 *
 * Those of a stage that nobody reads yet are not counted. When it has got its first child (a
 * framework may say so when all its tasks are done) those that are there are; more than one step
 * may change (step_tasks_max) follow in the next ones, in order of tasks. Without RULE_KEEPS_WAIT
 * all are in one step. O(1) each, as spread.h says.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* The task's output on the host, which its stage's children read, comes or goes. Nothing where it
 * is not counted yet. */
void outputs_hold(struct engine *engine, const struct task *task, struct host *host, bool add);
/* The stage has got its first child. */
void outputs_keep(struct engine *engine, struct stage *stage);
/* Goes on with the stages whose outputs could not all be counted at once, the oldest job's
 * first. */
void outputs_go_on(struct engine *engine);
/* For load, before any of its tasks is done: those from this one on are not counted yet. */
void outputs_restore(struct engine *engine, struct stage *stage, uint32_t next);
