/* Which task runs where, or is held: proposes one claim at a time until nothing more. */
#pragma once

#include "controller/engine/books/cluster.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/locality.h"

/* Duopoly, Tian et al., section 5, algorithms 1–4. */
extern const struct place_policy place_nats;
/* First job, locality first, least loaded host: never holds. */
extern const struct place_policy place_greedy;
/* Greedy, but maps wait up to hold_max for a slot next to their block. */
extern const struct place_policy place_delay;
/* NEAT: reduce tasks where their transfers end first, maps as delay; the same for a network that
 * shares evenly. */
extern const struct place_policy place_neat, place_neat_fair;
/* One receiver a job and host, behind the earlier jobs, slots kept: for a network by rank. */
extern const struct place_policy place_joint;
/* Greedy, but a slot that falls free goes back to the job whose task left it: as Spark's FAIR. */
extern const struct place_policy place_gather;
/* The optimum of a minimum-cost flow over all ready tasks and all room: Sirius, Chen et al. */
extern const struct place_policy place_flow;
/* The task that suffers least from what runs on a host that has room: HDAS, He et al. */
extern const struct place_policy place_affinity;
/* Its baseline: GPUs to those who gain most, the rest by turn. */
extern const struct place_policy place_model;
/* Filter and spread, as Docker Swarm; filter and score, as Kubernetes: baselines. */
extern const struct place_policy place_spread, place_score;
/* Ablation (F): first job, any fitting host. */
extern const struct place_policy place_random;

/* Shared steps. They need a shape with room. */

/* Algorithm 2, SelectTaskServerPair: a ready map of the bucket next to its block, else (unless
 * local_only) any on the least loaded host. No host is refused (locality.h). */
bool place_pair(struct engine *engine, struct bucket *bucket, bool local_only,
                struct claim *ret_claim);
/* The same over all buckets of the job with room; false: no such map. Where the job's maps are
 * spread evenly, only on hosts that are not refused, and away from the block only where no block's
 * host is up. */
bool place_pair_of_job(struct engine *engine, struct job *job, bool local_only,
                       struct claim *ret_claim);
/* The least loaded host's first unit with room. */
struct fit *place_least_loaded(const struct shape *shape);
/* Whether a slot is free for the shape: on the host that is asked for (engine->asked_host), or on
 * any. O(1). */
bool place_has_room(const struct engine *engine, const struct shape *shape);
/* The first unit with room of that host, or of the least loaded one. */
struct fit *place_fit(const struct engine *engine, const struct shape *shape);
/* The first job by turn, of the user that is asked for (engine->asked) or of all, that has a ready
 * map or reduce task for which a slot is free, as its bucket; NULL: none. */
struct bucket *place_first_bucket(struct engine *engine);
/* The same with a map that needs no network (next to its block, or without one) and
 * room for it; NULL: none. */
struct bucket *place_first_local(struct engine *engine);
/* The next claim of delay scheduling, with reduce tasks placed by `reduce` (whose bucket has a
 * ready one and room). */
bool place_delayed(struct engine *engine,
                   struct claim (*reduce)(struct engine *engine, struct bucket *bucket),
                   struct claim *ret_claim);
/* Why maps wait that only wait for a slot next to their block. */
struct policy_why place_held_map(const struct engine *engine, const struct stage *stage,
                                 const struct task *task);

/* Parameters of placements that spread maps evenly, and of all that hold. */
extern const struct engine_parameter *const place_even_parameters[];
extern const struct engine_parameter *const place_held_parameters[];

/* Reasons of these shared steps, and their entries for tables. */
#define REASON_LOCAL_BLOCK   ((enum reason)1)
#define REASON_NO_LOCAL_SLOT ((enum reason)2)
#define REASON_NO_BLOCK      ((enum reason)3)
#define REASON_GREEDY        ((enum reason)8)
#define PLACE_PAIR_REASONS                                                                         \
    {DECISION_START,                                                                               \
     REASON_LOCAL_BLOCK,                                                                           \
     "local-block",                                                                                \
     "hosts with a free slot that had its block",                                                  \
     "ready tasks of the job that were local there",                                               \
     "Runs on {host} because its block is there: {left} hosts with a free slot had it, and "       \
     "{right} of the job's ready tasks were local there. "},                                       \
        {DECISION_START,                                                                           \
         REASON_NO_LOCAL_SLOT,                                                                     \
         "no-local-slot",                                                                          \
         NULL,                                                                                     \
         "tasks that ran there",                                                                   \
         "Runs on {host}, the least loaded host ({right} tasks), because no host that has its "    \
         "block "                                                                                  \
         "had a free slot. "},                                                                     \
    {                                                                                              \
        DECISION_START, REASON_NO_BLOCK, "no-block", NULL, "tasks that ran there",                 \
            "Runs on {host}, the least loaded host ({right} tasks); it reads no block of its "     \
            "own. "                                                                                \
    }
#define PLACE_GREEDY_REASON                                                                        \
    {                                                                                              \
        DECISION_START, REASON_GREEDY, "greedy", NULL, "tasks that ran there",                     \
            "Runs on {host}, the least loaded host ({right} tasks). "                              \
    }
#define PLACE_HELD_MAP_REASON                                                                      \
    {                                                                                              \
        DECISION_HOLD, REASON_NO_LOCAL_SLOT, NULL, "ready tasks of the stage", NULL,               \
            "it waits for a slot next to its block."                                               \
    }
