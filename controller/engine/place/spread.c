/* Filter and spread (Docker Swarm's strategy "spread"): of the hosts that a task's constraint
 * leaves the one with the fewest tasks, for the first task in turn. Blocks do not count. */
#include "controller/engine/place/place.h"
#include "controller/engine/watch/queues.h"

static bool spread_pick(struct engine *engine, struct claim *ret_claim)
{
    struct bucket *bucket = place_first_bucket(engine);
    if (!bucket)
        return false;
    struct task *map = bucket_first_map(bucket);
    struct fit *fit = place_least_loaded(bucket->shape);
    *ret_claim = (struct claim){map ? map : bucket_largest(engine, bucket), fit, REASON_GREEDY, 0,
                                fit->host->running};
    return true;
}

static const struct policy_reason reasons[] = {PLACE_GREEDY_REASON, {0}};

const struct place_policy place_spread = {
    .policy = {.name = "filter-spread", .reasons = reasons},
    .pick = spread_pick,
};
