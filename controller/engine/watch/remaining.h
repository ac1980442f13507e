/* What remains of an active job: a task without network input is a part of it until it is done, the
 * bytes of another until it has received them; both return when the output is lost or the task runs
 * again. Private to controller/engine.
 *
 * WHY it is kept whichever policies are in force: one that needs it may be put in force while jobs
 * of 10⁶ tasks run. O(1) for each change of a task. */
#pragma once

#include "controller/engine/base/state.h"

/* For load: counts it anew. O(tasks of stages that have begun). */
void remaining_restore(struct engine *engine);

extern const struct listener remaining_hears;
