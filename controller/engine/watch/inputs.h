/* What running tasks of frameworks read over the network: measured again, in portions, when what
 * is known of their inputs changes. Private to controller/engine.
 *
 * WHY in portions: a fact about a wide shuffle changes the inputs of every running reduce task, and
 * each has as many as there are maps. Until its turn comes an attempt keeps what was measured.
 * Before RULE_INPUTS_WAIT all attempts of the stage are measured at once. */
#pragma once

#include "controller/engine/base/state.h"

/* Inputs of the task may have changed: its attempts are measured soon. O(attempts log). */
void inputs_changed(struct engine *engine, struct task *task);
/* Measures attempts as far as this step may look, in order of number. O(maps log) each. */
void inputs_go_on(struct engine *engine);
/* For load: the attempt is still to be measured. */
void inputs_restore(struct engine *engine, struct attempt *attempt);
