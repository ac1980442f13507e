/* State of joint, and its half about maps; joint.c has the rules. Private to
 * controller/engine/place.
 *
 * One object in several files: joint, joint_maps, pack. */
#pragma once

#include "controller/engine/base/ground.h"
#include "controller/engine/place/joint_host.h"
#include "controller/engine/place/pack.h"
#include "controller/engine/watch/locality.h"
#include "controller/engine/watch/opened.h"

enum { JOINT_SMALL_MS = 1000, JOINT_SMALL_BLOCKS = 10 };
/* For the last free slots of the cluster. */
enum { JOINT_LAST_SHARE = 32, JOINT_LAST_MS = 10 * JOINT_SMALL_MS };
/* Stages that wait for preferred hosts: each is asked each time. */
enum { JOINT_FAR_MAX = 16 };
enum {
    JOINT_RATE_MS = 30000
}; /* a multiple of all these times: their bytes follow from its bytes */
_Static_assert(JOINT_RATE_MS % JOINT_SMALL_MS == 0 && JOINT_RATE_MS % JOINT_LAST_MS == 0 &&
                   JOINT_RATE_MS % JOINT_SHORT_MS == 0 && JOINT_RATE_MS % JOINT_LONG_MS == 0,
               "buckets have right values as long as the rate is the same");

/* What concerns each user that joint is asked for. */
struct joint_whole {
    uint64_t up, uplink_bps;
    bool left; /* what is left free is kept only from turns that are not before: */
    struct sorted_key from;
};

struct joint_engine {
    uint64_t rate;       /* what a link moves in JOINT_RATE_MS, on which buckets' values depend */
    uint64_t moves;      /* how often jobs passed others, and transfers lost their job */
    struct sorted far;   /* stages that wait for preferred hosts, by until when */
    bool waits, crowded; /* in this pick a stage came to wait; or could not, as JOINT_FAR_MAX do */
    struct joint_whole whole; /* as of the last look */
    uint64_t wholes; /* how often that changed, or hosts opened to jobs that did not change */
    struct pack_engine pack;
};
struct joint_job {
    struct locality_job even;
    uint64_t blocks_bytes; /* JOINT_SMALL_BLOCKS times its largest block */
    uint64_t map_moves;
    uint64_t turn; /* its number, as of the last move */
    struct pack_job pack;
};
/* What hosts refused it for, valid for hosts that have not changed since. A cache only. */
struct joint_stage {
    const struct stage *stage; /* whose it is, once it was in `far` */
    bool refused;
    uint32_t own; /* a host that is closed since its own job receives there; ENGINE_NONE: none */
    enum length length;
    uint64_t short_bytes, moves, changes;
    bool maps_refused;
    uint64_t map_moves, maps, map_changes;
    struct near near;
    uint64_t far_until_ns; /* it is in `far`; 0: it is not */
    struct sorted_node of_far;
};

/* Whether only the last free slots of the cluster are left. */
static inline bool joint_only_short(const struct engine *engine)
{
    return engine->free.amount[RES_SLOTS] <= engine->total.amount[RES_SLOTS] / JOINT_LAST_SHARE;
}

/* The turn before which nothing keeps these from a job: a framework takes them for the first of its
 * jobs that it places itself (opened.h), as soon as they are left free. NULL: they are kept. */
static inline const struct sorted_key *joint_last_from(const struct engine *engine)
{
    return engine_follows(engine, RULE_LEFT_IS_TAKEN) ? opened_first(engine) : NULL;
}

/* Whether its turn comes before. */
static inline bool joint_is_sooner(const struct job *a, const struct job *b)
{
    return sorted_compare(a->turn, b->turn) < 0;
}

/* Where a job's maps could run, in order of preference. */
enum map_place { EVENLY, NEXT_TO_BLOCK, ANYWHERE };

struct joint_map {
    struct bucket *bucket; /* NULL: none */
    enum map_place place;
};
/* The job whose map is next, if any, and the claim for it; false: no host takes one there. */
struct joint_map joint_choose_map(struct engine *engine);
bool joint_pick_map(struct engine *engine, struct joint_map choice, struct claim *ret_claim);

/* place_policy.map_value: which slots the job's maps may have. */
uint64_t joint_map_value(struct engine *engine, const struct bucket *bucket);
/* Call when that may have changed for another reason than its turn and its ready tasks. */
void joint_maps_follow(struct engine *engine, struct bucket *bucket);
/* Bytes of the task's block, UINT64_MAX if not reported; the job has a block of this size. */
uint64_t joint_block_of(const struct task *task);
void joint_count_block(struct joint_job *kept, uint64_t block);
