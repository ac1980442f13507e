/* Jobs by turn on each host where their maps wait next to their blocks: the index that finds the
 * first job with a map for which there is room. Private to controller/engine.
 *
 * It is kept only where the placement asks (place_policy.first_local), of all jobs, or where
 * somebody divides for each user that has maps on a host. The bucket of a job that moved in turn is
 * in queues->moved, and so is one that comes while others are there: its locals are
 * in no set, or where they were before, and their changes cost nothing. A question asks such
 * buckets by itself, and updates them once it has spent as many looks as that costs. */
#pragma once

#include "controller/engine/base/state.h"

/* The first job by turn of those in these queues of the shape that has a ready map with room next
 * to its block, as its bucket; NULL: none. On the host that is asked for (engine->asked_host),
 * which has room, or on any. O(log n); of a user also the hosts that changed since it was asked, or
 * those with room, or those where it waits, whichever are fewest. After jobs moved, it looks at the
 * hosts of their ready maps, or on each host with room at all that moved, whichever are fewer; the
 * job that moved first is updated once as many looks as that costs were spent without it. WHY no
 * index does better: under a turn that follows running tasks each start and end moves a job on all
 * its hosts, and each freed slot concerns all jobs that wait there. */
struct bucket *waiting_first(struct engine *engine, const struct shape *shape,
                             struct queues *queues);

/* A local of the bucket comes; is about to go; its memory is about to; it has another first ready
 * map, or is refused differently. O(log n). */
void waiting_come(struct engine *engine, struct local_maps *local);
void waiting_leave(struct local_maps *local);
void waiting_gone(struct local_maps *local);
void waiting_place(struct local_maps *local);
/* What is refused changed on all hosts of the bucket. O(its hosts). */
void waiting_place_all(struct engine *engine, struct bucket *bucket);
/* The bucket stands in these queues from now on. O(its hosts). */
void waiting_change_queues(struct engine *engine, struct bucket *bucket, struct queues *queues);
/* Where buckets that have begun are listed for its host. */
struct begun *waiting_begun(const struct local_maps *local);
/* The job's turn changed; all its locals are about to go. O(1). */
void waiting_move(struct bucket *bucket);
void waiting_forget(struct bucket *bucket);

/* Where maps are spread evenly: other hosts have not had their part, so no map of the bucket goes
 * there. */
static inline bool local_refused(const struct local_maps *local)
{
    return local->bucket->n_under && !local->under;
}

/* Whether there is room on its host. */
static inline bool local_fits(const struct local_maps *local)
{
    return local->host->shapes[local->bucket->shape->index]->fitting > 0;
}
