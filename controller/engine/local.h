/* Which ready map runs next to its block: the pairs (task, server) in the order of Duopoly's
 * algorithm 2. Private to controller/engine.
 *
 * Order of pairs within one job: fewest candidate servers of the task, then fewest of the job's
 * ready local tasks on the server, then fewest tasks there, then at random (a hash of seed, job and
 * host). Where a share is set, hosts that are over it come last.
 *
 * Hosts change all the time, jobs are asked seldom. So a bucket looks at changed hosts only when it
 * is asked for a pair: it reads the engine's ring of changes from where it read last, or looks at
 * all its own hosts when that is less. Where far fewer hosts have room than it would have to look
 * at, it looks at those alone and leaves its index as it is. Cost: O(log n) per change that
 * concerns it, or per host with room, plus the lists of its ready tasks on those hosts. */
#pragma once

#include "controller/engine/state.h"

/* How many of the job's tasks one host runs before it is over its share: 1 + map_share_permille ÷
 * 1000 of an even part of the maps over the hosts that are joined. UINT64_MAX when the
 * configuration sets no share. */
uint64_t local_share(const struct engine *engine, const struct job *job);
/* Do the job's outputs on the host and its tasks that run there reach its share? O(log n) plus its
 * attempts. */
bool local_over_share(const struct job *job, const struct host *host);
/* The job's tasks on the host became more or fewer. O(log n) per bucket; nothing where no share is
 * set. */
void local_recount(struct engine *engine, const struct job *job, struct host *host);

/* A map with a block became ready, or stopped being ready. O(replicas · log). */
void local_add(struct engine *engine, struct task *task);
void local_remove(struct engine *engine, struct task *task);
/* The best pair of the bucket: 0, or −ENOENT when no host with room (and, if within_share, not over
 * its share) holds the block of a ready map. ret_candidates, ret_here: the numbers that decided. */
int local_best_pair(struct engine *engine, struct bucket *bucket, bool within_share,
                    struct task **ret_task, struct fit **ret_fit, uint32_t *ret_candidates,
                    uint32_t *ret_here);
/* The job's turn changed: its places in the hosts' waiting lists follow when they are asked for.
 * O(1). */
void local_reorder(struct bucket *bucket);
/* The bucket is about to go. */
void local_forget(struct bucket *bucket);
/* The first job by turn with a ready map of this shape next to whose block there is room, as its
 * bucket; NULL: none. O(log n); where jobs were moved since the last time, either the hosts of
 * their ready maps or the jobs that wait on hosts with room are looked at, whichever are fewer. WHY
 * no index does better: under a turn that follows running tasks each start and end moves a job on
 * all its hosts, and each slot that is freed concerns all jobs that wait there. */
struct bucket *local_first(struct engine *engine, struct shape *shape);
/* How many hosts with room hold the task's block, now. O(replicas). */
uint32_t local_candidates(const struct engine *engine, const struct task *task);
