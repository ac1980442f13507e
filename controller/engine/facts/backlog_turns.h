/* Continues what earlier steps left, for one application after the other. Private to
 * controller/engine.
 *
 * An event about much (a wide stage, all tasks of it, all jobs of an application) does a part of
 * its work in its own step and leaves the rest: stages that grow (framework_grow.h), are sized
 * (framework_sizes.h), skipped (framework_skip.h) or opened (stage.h), outputs that are counted
 * (outputs.h) or lost (losing.h), inputs that are measured, jobs that change rooms (rooms.h). Each
 * step has a bound for looks at tasks and one for tasks that are made ready, for its events and for
 * what is left together.
 *
 * What is left is done by turns of the applications whose jobs it is about; all submitted jobs are
 * one more, in order of their numbers. The one whose turn it is works until it has nothing left or
 * the step has reached its bound; then the next one does, in this step or the next. So none waits
 * longer than for one step of each other one, whatever these report meanwhile. Who had less than
 * half of the bound, since the step's events took the rest, begins again. Without RULE_OWNERS_TURN
 * the smallest job's work is always first.
 *
 * Each turn's looks and decisions are counted for its application: engine_charges. A step costs
 * O(log n) more for each application with work left. */
#pragma once

#include "controller/engine/base/state.h"

/* As much of everything except opening as this step may look at. */
void backlog_look(struct engine *engine);
/* Opens as many tasks as this step may make ready. */
void backlog_open(struct engine *engine);
/* Frees some memory of ended jobs. */
void backlog_free(struct engine *engine);
/* For load. False: there is no such application. */
bool backlog_restore_turns(struct engine *engine, uint64_t looks, uint64_t ready);
