/* Which ready map runs next to its block: the pairs (task, server) in the order of Duopoly's
 * algorithm 2. Private to controller/engine.
 *
 * Order of pairs within one job: where maps are spread evenly, fewest of the job's maps placed on
 * the server; then fewest candidate servers of the task, then fewest of the job's ready local tasks
 * on the server, then fewest tasks there, then at random (a hash of seed, job and host).
 *
 * Spread evenly means: while a host that is up holds the block of a ready map and has fewer than
 * its part of the job's maps, no other host gets one ("refused"): the map waits for a slot there.
 *
 * Hosts change all the time, and jobs are asked seldom. So a bucket looks at changed hosts only
 * when it is asked for a pair: it reads the engine's ring of changes since its last look, or looks
 * at all its own hosts when that is less. Room that came or went updates every task on that host,
 * on all its hosts. Where few hosts have room that is not worth it: nearly every task next to them
 * has no other candidate, and the first one is found at once. So the bucket first looks at the
 * tasks on hosts with room, and updates its index only when that has taken as many looks as the
 * update would. Where no host could take a task, only those that changed since are looked at.
 * Cost: O(log n) per change that concerns it, or per host with room, plus the lists of its ready
 * tasks on those hosts. */
#pragma once

#include "controller/engine/policy/policy.h"

/* What a placement policy keeps per job (place_policy.even): a host's part of the job's maps, an
 * even part over the hosts that were joined when it was submitted, rounded up; tasks that run again
 * (a failed map) may exceed it by one. UINT64_MAX where maps are not spread evenly. */
struct locality_job {
    uint64_t share;
};
policy_state_hook locality_job_init; /* O(stages), and the hosts of the job's ready maps */
void locality_job_grew(struct engine *engine, struct job *job); /* recomputes it */
/* How many hosts must have been joined for that share; 1 where it is unknown. */
uint32_t locality_hosts_of_share(const struct job *job, uint64_t share);
/* Whether the job's maps are spread evenly. */
bool locality_is_even(const struct engine *engine, const struct job *job);
/* The job's outputs on the host and its tasks that run there; 0 where its maps are not spread
 * evenly. O(1). */
uint64_t locality_placed(const struct engine *engine, const struct job *job,
                         const struct host *host);
/* Whether there is a ready map that need not wait for a place: without a block, or (where maps are
 * spread evenly) with no block on a host that is up. */
bool locality_anywhere(const struct engine *engine, const struct bucket *bucket);

/* The best pair of the bucket, on the host that is asked for (engine->asked_host) or on all: 0, or
 * −ENOENT when no host with room (and, if even, not refused) holds the block of a ready map.
 * ret_candidates, ret_here: the numbers that decided. */
int locality_best_pair(struct engine *engine, struct bucket *bucket, bool even,
                       struct task **ret_task, struct fit **ret_fit, uint32_t *ret_candidates,
                       uint32_t *ret_here);
/* A map of the bucket has run: the next question finds it on the hosts of its ready maps. O(1) the
 * next times, first O(its hosts). */
void locality_begin(struct engine *engine, struct bucket *bucket);
/* The first bucket by turn of those that have begun, of this shape and for which `counts`, with a
 * ready map next to whose block there is room, whether or not that host has had its part; NULL:
 * none. O(hosts with room, and begun buckets of these queues with ready maps there). */
struct bucket *locality_first_begun(struct engine *engine, const struct shape *shape,
                                    const struct queues *queues,
                                    bool (*counts)(const struct bucket *bucket));
/* Whether there is room next to the block of a ready map, whether or not that host has had its
 * part. O(the fewer of hosts with room and of the bucket's hosts). */
bool locality_has_room(struct engine *engine, const struct bucket *bucket);
/* The bucket stands in these queues from now on. O(its hosts). */
void locality_change_queues(struct engine *engine, struct bucket *bucket, struct queues *queues);
/* The job's turn changed. O(its buckets): its places in the hosts' waiting lists follow when they
 * are asked for. */
void locality_reorder(struct engine *engine, struct job *job);

/* The longest wait of a map for a slot where its job is spread evenly, counted from the last start
 * in its stage; 0: maps are not spread evenly. A parameter of each placement with
 * place_policy.even. */
extern const struct engine_parameter parameter_even_wait;
extern const struct listener locality_hears;
