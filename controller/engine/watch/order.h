/* The order of active jobs ("whose turn"). Private to controller/engine.
 *
 * The turn policy gives each job a number, smaller is sooner, ties by job number; this module keeps
 * every index that is sorted by it. A job's place changes when its number does: O(log n), for
 * it and for each of its ready queues and waiting stages, which are sorted by it too. */
#pragma once

#include "controller/engine/base/state.h"

/* Something that the policy may look at changed (estimate, priority, running tasks): the job moves
 * when its number did. */
void order_change(struct engine *engine, struct job *job);
/* The policy itself changed: every active job moves. O(n log n). */
void order_rebuild(struct engine *engine);
/* L0, NULL without active jobs. */
struct job *order_first(const struct engine *engine);

extern const struct listener order_hears;
