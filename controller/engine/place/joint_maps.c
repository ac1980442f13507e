#include "controller/engine/base/table.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/users.h"
#include "controller/engine/place/joint.h"
#include "controller/engine/place/place.h"
#include "controller/engine/watch/queues.h"

enum { FEW_ROOMS = 8 };

/* Its shuffle, or JOINT_SMALL_BLOCKS times its largest block if that is more. */
static uint64_t small_bytes(const struct job *job)
{
    const struct joint_job *kept = job->kept[QUESTION_PLACE];
    return kept->blocks_bytes > job->shuffle_bytes ? kept->blocks_bytes : job->shuffle_bytes;
}

static void sooner(struct joint_map *choice, struct bucket *bucket, enum map_place place)
{
    if (bucket && (!choice->bucket || bucket_is_sooner(bucket, choice->bucket)))
        *choice = (struct joint_map){bucket, place};
}

static bool has_ready_on(const struct bucket *bucket, const struct host *host)
{
    return host && host->shapes[bucket->shape->index]->fitting > 0 &&
           table_find(&bucket->locals, host->index);
}

/* There was none, only hosts that changed since can have one, and they are fewer than those with
 * room. */
static bool may_remember_maps(const struct engine *engine, const struct stage *stage)
{
    const struct joint_job *job = stage->job->kept[QUESTION_PLACE];
    const struct joint_stage *kept = stage->kept[QUESTION_PLACE];
    uint64_t changes = engine->n_changes - kept->map_changes;
    return kept->maps_refused && kept->map_moves == job->map_moves &&
           kept->maps == stage->bucket->n_maps && changes <= CHANGES &&
           changes < stage->bucket->shape->by_load.n;
}

/* Whether there is a slot next to the block of a ready map, whether or not its host has had its
 * part. */
static bool has_local_room(struct engine *engine, const struct stage *stage)
{
    const struct bucket *bucket = stage->bucket;
    const struct joint_job *job = stage->job->kept[QUESTION_PLACE];
    struct joint_stage *kept = stage->kept[QUESTION_PLACE];
    bool remembers = may_remember_maps(engine, stage),
         found = !remembers && locality_has_room(engine, bucket);
    for (uint64_t i = kept->map_changes; remembers && i < engine->n_changes && !found; i++) {
        engine->counters.visits++;
        found = has_ready_on(bucket, cluster_host(engine, engine->changes[i % CHANGES]));
    }
    kept->maps_refused = !found;
    kept->map_moves = job->map_moves;
    kept->maps = bucket->n_maps;
    kept->map_changes = engine->n_changes;
    return found;
}

/* The first stage that has waited for evenness and has a slot next to a block. */
static struct bucket *first_uneven(struct engine *engine, const struct queues *queues,
                                   const struct bucket *before)
{
    for (struct sorted_node *node = sorted_first(&queues->overdue); node;
         node = sorted_next(node)) {
        struct stage *stage = container_of(node, struct stage, waiting);
        engine->counters.visits++;
        if (before && !joint_is_sooner(stage->job, before->job))
            return NULL;
        if (!stage->ready_reduces.n && has_local_room(engine, stage))
            return stage->bucket;
    }
    return NULL;
}

static const struct stage *first_stage(const struct bucket *bucket)
{
    return bucket_first_map(bucket)->stage;
}

/* Whether maps without a slot next to a block wait for one, since others of their stage run. WHY:
 * slots fall free one by one, so that each is among the last; the map that ends a stage takes
 * longer than all before it if it is far from its block. */
static bool waits_for_own_slots(const struct engine *engine, const struct bucket *bucket)
{
    return first_stage(bucket)->first->n_running && !locality_anywhere(engine, bucket);
}

/* Which slots a job's maps may have, by its size as far as it is known: values of queues->maps. */
enum {
    MAPS_SMALL,  /* any slot */
    MAPS_MEDIUM, /* any of the last slots */
    MAPS_OWN,    /* those of the last slots next to a block */
    MAPS_LARGE   /* none of the last slots; a bucket with a home has a larger value (pack.h) */
};

static uint64_t rated(const struct engine *engine, uint32_t ms)
{
    const struct joint_engine *all = engine->kept[QUESTION_PLACE];
    return all->rate / (JOINT_RATE_MS / ms);
}

uint64_t joint_map_value(struct engine *engine, const struct bucket *bucket)
{
    if (!bucket->job->kept[QUESTION_PLACE])
        return MAPS_LARGE;
    if (bucket->homed)
        return UINT64_MAX;
    uint64_t bytes = small_bytes(bucket->job);
    return bytes <= rated(engine, JOINT_SMALL_MS)                  ? MAPS_SMALL
           : bytes > rated(engine, JOINT_LAST_MS)                  ? MAPS_LARGE
           : bucket->n_maps && waits_for_own_slots(engine, bucket) ? MAPS_OWN
                                                                   : MAPS_MEDIUM;
}

static bool is_for_last(const struct bucket *bucket)
{
    return bucket->by_turn_maps.value <= MAPS_OWN;
}

/* The first of those before `before` (NULL: of all) that wait for their own slots and have one. */
static struct bucket *first_with_own_slot(struct engine *engine, const struct queues *queues,
                                          const struct bucket *before)
{
    struct sorted_node *node = sorted_first_below(&queues->maps, MAPS_OWN + 1);
    for (; node; node = sorted_next_below(node, MAPS_OWN + 1)) {
        struct bucket *bucket = container_of(node, struct bucket, by_turn_maps);
        engine->counters.visits++;
        if (bucket == before)
            return NULL;
        if (has_local_room(engine, first_stage(bucket)))
            return bucket;
    }
    return NULL;
}

/* Chooses for the last slots. WHY two ways: where few hosts have room, few maps wait there; where
 * many have, one of the first jobs has a map there. */
static struct joint_map choose_last(struct engine *engine, const struct shape *shape,
                                    const struct queues *queues)
{
    struct sorted_node *node = sorted_first_below(&queues->maps, MAPS_MEDIUM + 1);
    struct bucket *first = node ? container_of(node, struct bucket, by_turn_maps) : NULL;
    struct joint_map choice = {first, ANYWHERE};
    sooner(&choice,
           shape->by_load.n <= FEW_ROOMS ? locality_first_begun(engine, shape, queues, is_for_last)
                                         : first_with_own_slot(engine, queues, first),
           ANYWHERE);
    return choice;
}

static struct joint_map choose_small(const struct queues *queues)
{
    struct sorted_node *node = sorted_first_below(&queues->maps, MAPS_SMALL + 1);
    return (struct joint_map){node ? container_of(node, struct bucket, by_turn_maps) : NULL,
                              ANYWHERE};
}

/* As if only the last slots were free, or as if more were. */
static struct joint_map choose(struct engine *engine, bool last)
{
    struct joint_map choice = {0};
    if (!last)
        sooner(&choice, place_first_local(engine), EVENLY);
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        if (shape_times(engine, shape) <= 0)
            continue;
        const struct queues *queues = users_asked(engine, shape);
        if (!last)
            sooner(&choice, first_uneven(engine, queues, choice.bucket), NEXT_TO_BLOCK);
        struct joint_map other = last ? choose_last(engine, shape, queues) : choose_small(queues);
        sooner(&choice, other.bucket, other.place);
    }
    return choice;
}

struct joint_map joint_choose_map(struct engine *engine)
{
    const bool last = joint_only_short(engine);
    const struct sorted_key *from = last ? joint_last_from(engine) : NULL;
    struct joint_map choice = choose(engine, last);
    if (!from)
        return choice;
    struct joint_map other = choose(engine, false);
    if (other.bucket && sorted_compare(other.bucket->job->turn, *from) < 0)
        sooner(&choice, other.bucket, other.place);
    return choice;
}

bool joint_pick_map(struct engine *engine, struct joint_map choice, struct claim *ret_claim)
{
    if (choice.place == EVENLY)
        return place_pair_of_job(engine, choice.bucket->job, true, ret_claim);
    return place_pair(engine, choice.bucket, choice.place == NEXT_TO_BLOCK, ret_claim);
}

/* WHY an unreported size counts as large: its framework waits for a slot next to the block. */
uint64_t joint_block_of(const struct task *task)
{
    const uint32_t *replicas = task_replicas(task);
    bool unknown = task->stage->job->framework && replicas && replicas[0] != ENGINE_NONE;
    return unknown && !task->input_bytes ? UINT64_MAX : task->input_bytes;
}

void joint_count_block(struct joint_job *kept, uint64_t block)
{
    uint64_t bytes =
        block < UINT64_MAX / JOINT_SMALL_BLOCKS ? block * JOINT_SMALL_BLOCKS : UINT64_MAX;
    if (bytes > kept->blocks_bytes)
        kept->blocks_bytes = bytes;
}

void joint_maps_follow(struct engine *engine, struct bucket *bucket)
{
    if (bucket->by_turn_maps.in && bucket->by_turn_maps.value != joint_map_value(engine, bucket))
        bucket_update(engine, bucket);
}
