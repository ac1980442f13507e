/* Evictions: a running attempt is stopped, so that another task gets its slot or its own task runs
 * elsewhere. Private to controller/engine.
 *
 * A placement or the users' policy asks for it (place_policy.evict, users_policy.evict), one at a
 * time; the engine decides the stop, with the policy's reason and numbers. The task is ready at
 * once, unless another attempt of it runs. The attempt counts for it no more: it ends as one whose
 * job is over, holds its resources until its host reports the end, and is no failure, of the task
 * or of the host. Its user gets back what it was charged (attempt_returned). What it did is lost:
 * the time that it had run is counted, for people, with its task and its job, until the job is
 * gone.
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
/* Whether a task of the shape would fit in the unit of the attempt without it; never one that runs
 * in an application's room. O(1). */
bool eviction_leaves_room(const struct attempt *attempt, const struct shape *shape);
/* eviction_may holds for it. */
void eviction_do(struct engine *engine, const struct eviction *eviction);

/* What was evicted of a task. */
struct evicted {
    struct sorted_node of_job;
    uint32_t times;
    int64_t lost_ns; /* that its evicted attempts had run */
    /* The last one: when, where, why, and the task that was to have its slot (by_job 0: none). */
    int64_t at_ns;
    uint32_t host;
    enum reason reason;
    int64_t left, right;
    uint64_t by_job;
    uint32_t by_stage, by_task;
};
/* NULL: nothing was. O(log evicted tasks of its job). */
struct evicted *eviction_of(const struct task *task);
/* For load: what eviction_do had counted; it must be the task's only one. */
void eviction_restore(struct engine *engine, struct task *task, const struct evicted *evicted);
/* Frees as many as `left` says, which it counts down. True: none is left. */
bool eviction_shrink(struct job *job, uint32_t *left);
