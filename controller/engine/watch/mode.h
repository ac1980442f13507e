/* The two modes and when they switch. Private to controller/engine.
 *
 * Slot-starved ⇔ ready tasks of the first job outnumber the free slots that they may use (per
 * shape; a shape that no host that is up could hold is not blocked by slots and does not count).
 * The difference does not change when the first job's own tasks are placed, so the mode is computed
 * after the events of a step and after each pick. A mode lasts at least mode_dwell_ns. Source: Tian
 * et al., section 4. */
#pragma once

#include "controller/engine/base/state.h"

/* Switches the mode if that is due; a switch is a decision. O(shapes of the first job). */
void mode_update(struct engine *engine);
/* For load: computes whether a switch waits for the dwell, without switching. */
void mode_restore(struct engine *engine);
/* When a switch that waits for the dwell is due; INT64_MAX: none waits. */
int64_t mode_deadline_ns(const struct engine *engine);
