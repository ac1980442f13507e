/* The order of active jobs: which is next in turn. Private to controller/engine.
 *
 * The turn policy gives each job a number, smaller is sooner, ties by job number; this module keeps
 * every index that is sorted by it. A job moves when its number changes: O(log n) for it and for
 * each of its ready queues and waiting stages. */
#pragma once

#include "controller/engine/base/state.h"

/* A value that the policy uses changed (estimate, priority, running tasks): moves the job if its
 * number changed. */
void order_change(struct engine *engine, struct job *job);
/* The policy changed: every active job moves. O(n log n). */
void order_rebuild(struct engine *engine);
/* The first in turn; NULL without active jobs. */
struct job *order_first(const struct engine *engine);
/* The first of those that a placement is asked for; of those that are placed together with this
 * one: of its user, where somebody divides. */
struct job *order_first_asked(const struct engine *engine);
struct job *order_first_beside(const struct engine *engine, const struct job *job);

extern const struct listener order_hears;
