/* Delay scheduling (Zaharia et al., EuroSys 2010) for baselines: a job whose maps find no slot next
 * to a block is passed over, and after hold_max without any start its maps go anywhere. Reduce
 * tasks never wait for a better slot.
 *
 * The wait is the engine's hold: what a pick leaves although a slot is free is held, and returns as
 * overdue when the hold ends. */
#include "controller/engine/base/ground.h"
#include "controller/engine/books/users.h"
#include "controller/engine/place/place.h"
#include "controller/engine/watch/hold.h"
#include "controller/engine/watch/locality.h"
#include "controller/engine/watch/queues.h"

static bool pick_overdue(struct engine *engine, struct claim *ret_claim)
{
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        struct sorted_node *node = place_has_room(engine, shape)
                                       ? sorted_first(&users_asked(engine, shape)->overdue)
                                       : NULL;
        struct bucket *bucket = node ? container_of(node, struct stage, waiting)->bucket : NULL;
        if (bucket && bucket->n_maps)
            return place_pair(engine, bucket, false, ret_claim);
    }
    return false;
}

static struct bucket *first_reduce(struct engine *engine)
{
    struct bucket *best = NULL;
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        struct sorted_node *node = place_has_room(engine, shape)
                                       ? sorted_first(&users_asked(engine, shape)->reduces)
                                       : NULL;
        struct bucket *bucket = node ? container_of(node, struct bucket, by_turn_reduces) : NULL;
        if (bucket && (!best || bucket_is_sooner(bucket, best)))
            best = bucket;
    }
    return best;
}

bool place_delayed(struct engine *engine,
                   struct claim (*reduce)(struct engine *engine, struct bucket *bucket),
                   struct claim *ret_claim)
{
    if (pick_overdue(engine, ret_claim))
        return true;
    struct bucket *map = place_first_local(engine), *other = first_reduce(engine);
    if (map && (!other || sorted_compare(other->job->turn, map->job->turn) >= 0))
        return place_pair(engine, map, true, ret_claim);
    if (other)
        *ret_claim = reduce(engine, other);
    return other;
}

static struct claim least_loaded(struct engine *engine, struct bucket *bucket)
{
    struct fit *fit = place_fit(engine, bucket->shape);
    return (struct claim){bucket_largest(engine, bucket), fit, REASON_GREEDY, 0,
                          fit->host->running};
}

static bool delay_pick(struct engine *engine, struct claim *ret_claim)
{
    return place_delayed(engine, least_loaded, ret_claim);
}

struct policy_why place_held_map(const struct engine *engine, const struct stage *stage,
                                 const struct task *task)
{
    (void)engine;
    (void)task;
    return (struct policy_why){REASON_NO_LOCAL_SLOT, clamp_i64(stage->n_ready), 0};
}

const struct engine_parameter *const place_held_parameters[] = {&parameter_even_wait,
                                                                &parameter_start_wait, NULL};

static const struct policy_reason reasons[] = {
    PLACE_PAIR_REASONS, PLACE_GREEDY_REASON, PLACE_HELD_MAP_REASON, {0}};

const struct place_policy place_delay = {
    .policy = {.name = "delay",
               .state[POLICY_JOB] = {.size = sizeof(struct locality_job),
                                     .init = locality_job_init},
               .parameters = place_held_parameters,
               .reasons = reasons,
               .hears.job_grew = locality_job_grew},
    .pick = delay_pick,
    .one_host = true,
    .pure = true,
    .first_local = true,
    .even = true,
    .held = place_held_map,
};
