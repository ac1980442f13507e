/* Evictions: a running attempt is stopped, so that another task gets its slot or its own task runs
 * elsewhere. Private to controller/engine.
 *
 * A placement or the users' policy asks for it (place_policy.evict, users_policy.evict), one at a
 * time; the engine decides the stop, with the policy's reason and numbers. The task is ready at
 * once, unless another attempt of it runs. The attempt counts for it no more: it ends as one whose
 * job is over, holds its resources until its host reports the end, and is no failure, of the task
 * or of the host. What it did is lost. Its user gets back what it was charged (attempt_returned).
 *
 * O(log n), and the attempt's edges.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Whether it may be evicted: it has a task and is ours, was not stopped before, its host is there
 * to stop it, and nothing that runs reads from it while it runs (a pipelined edge: the reader would
 * wait for the task's next attempt, and so may block the slot that this needs). O(the stage's
 * children and their edges). */
bool eviction_may(const struct attempt *attempt);
/* eviction_may holds for it. */
void eviction_do(struct engine *engine, const struct eviction *eviction);
