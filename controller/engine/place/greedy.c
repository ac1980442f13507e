/* greedy, and the steps that other policies share with it: the best (task, server) pair of a bucket
 * or of a job, and which job is next, each a look at the first entry of an index. */
#include "controller/engine/books/users.h"
#include "controller/engine/place/place.h"
#include "controller/engine/watch/queues.h"
#include "controller/engine/watch/waiting.h"

struct fit *place_least_loaded(const struct shape *shape)
{
    return container_of(sorted_first(&shape->by_load), struct fit, by_load);
}

bool place_has_room(const struct engine *engine, const struct shape *shape)
{
    const struct host *host = engine->asked_host;
    return shape_times(engine, shape) > 0 && (!host || host->shapes[shape->index]->fitting);
}

struct fit *place_fit(const struct engine *engine, const struct shape *shape)
{
    const struct host *host = engine->asked_host;
    if (!host)
        return place_least_loaded(shape);
    struct host_shape *here = host->shapes[shape->index];
    return &here->fit[here->first];
}

static bool local_pair(struct engine *engine, struct bucket *bucket, bool even,
                       struct claim *ret_claim)
{
    struct task *task;
    struct fit *fit;
    uint32_t candidates, here;
    if (!bucket->locals.n ||
        locality_best_pair(engine, bucket, even, &task, &fit, &candidates, &here) < 0)
        return false;
    *ret_claim = (struct claim){task, fit, REASON_LOCAL_BLOCK, candidates, here};
    return true;
}

static bool any_pair(const struct engine *engine, struct bucket *bucket, bool local_only,
                     struct claim *ret_claim)
{
    if (local_only && !locality_anywhere(engine, bucket))
        return false;
    struct task *unlocated = bucket_first_unlocated(bucket);
    struct task *task = unlocated ? unlocated : bucket_first_map(bucket);
    struct fit *fit = place_fit(engine, bucket->shape);
    enum reason reason = task->n_refs ? REASON_NO_LOCAL_SLOT : REASON_NO_BLOCK;
    *ret_claim = (struct claim){task, fit, reason, 0, fit->host->running};
    return true;
}

bool place_pair(struct engine *engine, struct bucket *bucket, bool local_only,
                struct claim *ret_claim)
{
    return local_pair(engine, bucket, false, ret_claim) ||
           any_pair(engine, bucket, local_only, ret_claim);
}

/* Fewest of the job's maps placed there (where they are spread evenly), then fewest candidate
 * servers, then fewest local tasks, then fewest tasks. */
static bool is_better(const struct engine *engine, const struct claim *a, const struct claim *b)
{
    uint64_t a_placed = locality_placed(engine, a->task->stage->job, a->fit->host),
             b_placed = locality_placed(engine, b->task->stage->job, b->fit->host);
    if (a_placed != b_placed)
        return a_placed < b_placed;
    if (a->left != b->left)
        return a->left < b->left;
    if (a->right != b->right)
        return a->right < b->right;
    return a->fit->host->running < b->fit->host->running;
}

static bool has_map(const struct engine *engine, const struct bucket *bucket)
{
    return bucket->n_maps && place_has_room(engine, bucket->shape);
}

bool place_pair_of_job(struct engine *engine, struct job *job, bool local_only,
                       struct claim *ret_claim)
{
    struct claim claim;
    bool found = false, even = locality_is_even(engine, job);
    for (uint32_t i = 0; i < job->n_buckets; i++) {
        engine->counters.visits++;
        if (!has_map(engine, job->buckets[i]) || !local_pair(engine, job->buckets[i], even, &claim))
            continue;
        if (!found || is_better(engine, &claim, ret_claim))
            *ret_claim = claim;
        found = true;
    }
    for (uint32_t i = 0; !found && i < job->n_buckets; i++)
        found = has_map(engine, job->buckets[i]) &&
                any_pair(engine, job->buckets[i], local_only || even, ret_claim);
    return found;
}

static void sooner(struct sorted_node *node, struct bucket *bucket, struct bucket **best)
{
    if (node && (!*best || bucket_is_sooner(bucket, *best)))
        *best = bucket;
}

struct bucket *place_first_bucket(struct engine *engine)
{
    struct bucket *best = NULL;
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        if (!place_has_room(engine, shape))
            continue;
        const struct queues *queues = users_asked(engine, shape);
        struct sorted_node *map = sorted_first(&queues->maps),
                           *reduce = sorted_first(&queues->reduces);
        sooner(map, map ? container_of(map, struct bucket, by_turn_maps) : NULL, &best);
        sooner(reduce, reduce ? container_of(reduce, struct bucket, by_turn_reduces) : NULL, &best);
    }
    return best;
}

static bool greedy_pick(struct engine *engine, struct claim *ret_claim)
{
    struct bucket *bucket = place_first_bucket(engine);
    if (!bucket)
        return false;
    if (bucket->n_maps)
        return place_pair(engine, bucket, false, ret_claim);
    struct fit *fit = place_fit(engine, bucket->shape);
    *ret_claim =
        (struct claim){bucket_largest(engine, bucket), fit, REASON_GREEDY, 0, fit->host->running};
    return true;
}

struct bucket *place_first_local(struct engine *engine)
{
    struct bucket *best = NULL;
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        if (!place_has_room(engine, shape))
            continue;
        struct queues *queues = users_asked(engine, shape);
        struct bucket *local = waiting_first(engine, shape, queues);
        struct sorted_node *unlocated = sorted_first(&queues->unlocated);
        if (local && (!best || bucket_is_sooner(local, best)))
            best = local;
        sooner(unlocated,
               unlocated ? container_of(unlocated, struct bucket, by_turn_unlocated) : NULL, &best);
    }
    return best;
}

const struct engine_parameter *const place_even_parameters[] = {&parameter_even_wait, NULL};

static const struct policy_reason reasons[] = {PLACE_PAIR_REASONS, PLACE_GREEDY_REASON, {0}};

const struct place_policy place_greedy = {
    .policy = {.name = "greedy",
               .state[POLICY_JOB] = {.size = sizeof(struct locality_job),
                                     .init = locality_job_init},
               .parameters = place_even_parameters,
               .reasons = reasons,
               .hears.job_grew = locality_job_grew},
    .pick = greedy_pick,
    .one_host = true,
    .pure = true,
    .even = true,
};
