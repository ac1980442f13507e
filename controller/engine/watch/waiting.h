/* Jobs by turn on each host where maps of theirs wait next to their blocks: the order that answers
 * which job is first with one for which there is room. Private to controller/engine.
 *
 * It is kept where the placement asks (place_policy.first_local), and for what it asks. The bucket
 * of a job that moved in turn stands in shape->moved, and so does one that comes while others stand
 * there: its locals stand nowhere, or where they stood before, and what happens to them costs
 * nothing. A question asks such buckets by itself, and lets them follow as soon as it has spent so
 * many looks as that costs. */
#pragma once

#include "controller/engine/base/state.h"

/* The first job by turn with a ready map of this shape next to whose block there is room, as its
 * bucket; NULL: none. O(log n); where jobs were moved since the last time, either the hosts of
 * their ready maps or the jobs that wait on hosts with room are looked at, whichever are fewer; and
 * who moved first follows as soon as so many looks as that costs were spent without it. WHY
 * no index does better: under a turn that follows running tasks each start and end moves a job on
 * all its hosts, and each slot that is freed concerns all jobs that wait there. */
struct bucket *waiting_first(struct engine *engine, struct shape *shape);

/* A local of the bucket comes, is about to go, has its first ready map or is refused otherwise.
 * O(log n). */
void waiting_come(const struct engine *engine, struct local_maps *local);
void waiting_leave(struct local_maps *local);
void waiting_place(struct local_maps *local);
/* What is refused is otherwise on all hosts of the bucket. O(its hosts). */
void waiting_place_all(struct engine *engine, struct bucket *bucket);
/* The job's turn changed; all its locals are about to go. O(1). */
void waiting_move(struct bucket *bucket);
void waiting_forget(struct bucket *bucket);

/* Where maps are kept even: while others have not had their part no map of the bucket goes
 * there. */
static inline bool local_refused(const struct local_maps *local)
{
    return local->bucket->n_under && !local->under;
}

/* There is room on its host. */
static inline bool local_fits(const struct local_maps *local)
{
    return local->host->shapes[local->bucket->shape->index]->fitting > 0;
}
