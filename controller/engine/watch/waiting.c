#include "controller/engine/watch/waiting.h"

#include "controller/engine/base/table.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/policy/questions.h"
#include "lib/invariant.h"

/* What updating a moved local costs, in looks at one that may be out of place. */
enum { FOLLOWING = 2 };

static void place(struct local_maps *local)
{
    struct shape *shape = local->bucket->shape;
    struct host_shape *here = local->host->shapes[shape->index];
    const struct job *job = local->bucket->job;
    struct sorted_key key = {job->turn.a, job->turn.b, 0};
    if (local->n && !local_refused(local))
        sorted_place(&here->waiting, &local->waiting, key, 0);
    else
        sorted_remove(&here->waiting, &local->waiting);
    host_shape_update(shape, here);
}

void waiting_place(struct local_maps *local)
{
    if (!local->bucket->moved)
        place(local);
}

static void place_locals(struct engine *engine, struct bucket *bucket)
{
    struct local_maps *local;
    for (uint32_t at = 0; (local = table_next(&bucket->locals, &at));) {
        engine->counters.visits++;
        place(local);
    }
}

void waiting_place_all(struct engine *engine, struct bucket *bucket)
{
    if (!bucket->moved)
        place_locals(engine, bucket);
}

void waiting_move(struct bucket *bucket)
{
    struct shape *shape = bucket->shape;
    if (bucket->moved || !bucket->locals.n)
        return;
    bucket->moved = true;
    shape->moved_locals += bucket->locals.n;
    TAILQ_INSERT_TAIL(&shape->moved, bucket, of_moved);
}

void waiting_forget(struct bucket *bucket)
{
    if (!bucket->moved)
        return;
    bucket->moved = false;
    assert(bucket->shape->moved_locals >= bucket->locals.n);
    bucket->shape->moved_locals -= bucket->locals.n;
    TAILQ_REMOVE(&bucket->shape->moved, bucket, of_moved);
}

/* WHY not at once while buckets are in `moved`: questions ask those by themselves, too, or no
 * policy asks. */
void waiting_come(const struct engine *engine, struct local_maps *local)
{
    struct bucket *bucket = local->bucket;
    bool later = !engine->place->first_local || !TAILQ_EMPTY(&bucket->shape->moved);
    if (bucket->moved)
        bucket->shape->moved_locals++;
    else if (bucket->locals.n == 1 && later)
        waiting_move(bucket);
}

void waiting_leave(struct local_maps *local)
{
    struct bucket *bucket = local->bucket;
    struct host_shape *here = local->host->shapes[bucket->shape->index];
    if (local->waiting.in) {
        sorted_remove(&here->waiting, &local->waiting);
        host_shape_update(bucket->shape, here);
    }
    if (bucket->moved && bucket->locals.n == 1)
        waiting_forget(bucket);
    else if (bucket->moved)
        bucket->shape->moved_locals--;
}

/* Updates buckets that cost at most this many looks. */
static void follow_moves(struct engine *engine, struct shape *shape, uint64_t *most)
{
    struct bucket *bucket;
    while ((bucket = TAILQ_FIRST(&shape->moved)) && *most / FOLLOWING >= bucket->locals.n) {
        *most -= FOLLOWING * bucket->locals.n;
        waiting_forget(bucket);
        place_locals(engine, bucket);
    }
}

/* Whether a map of the bucket waits on a host with room. Adds to the looks that this took. */
static bool waits_with_room(const struct bucket *bucket, uint64_t *looks)
{
    const struct sorted *rooms = &bucket->shape->by_load;
    bool few = rooms->n < bucket->locals.n, found = false;
    uint64_t left = few ? rooms->n : bucket->locals.n;
    struct sorted_node *node = sorted_first(rooms);
    for (uint32_t at = 0; left && !found; left--) {
        const struct local_maps *local =
            few ? table_find(&bucket->locals, container_of(node, struct fit, by_load)->host->index)
                : table_next(&bucket->locals, &at);
        node = few ? sorted_next(node) : NULL;
        ++*looks;
        found = local && local_fits(local) && !local_refused(local);
    }
    return found;
}

/* Asks the jobs in order: nearly always one of the first has a map there. False: given up, since it
 * took as many looks as other ways may. */
static bool first_in_turn(struct engine *engine, struct shape *shape, struct bucket **ret_bucket)
{
    uint64_t looks = 0, most = shape->moved_locals / 4;
    struct sorted_node *node = sorted_first_below(&shape->maps, UINT64_MAX);
    *ret_bucket = NULL;
    while (node && looks <= most && !*ret_bucket) {
        struct bucket *bucket = container_of(node, struct bucket, by_turn_maps);
        if (waits_with_room(bucket, &looks))
            *ret_bucket = bucket;
        node = sorted_next_below(node, UINT64_MAX);
    }
    engine->counters.visits += looks;
    shape->looked += looks;
    return *ret_bucket || !node;
}

/* Asks the jobs that wait on hosts with room. False: given up, as above. */
static bool first_on_hosts(struct engine *engine, struct shape *shape, struct bucket **ret_bucket)
{
    uint64_t looks = 0;
    struct sorted_node *node = sorted_first(&shape->by_load);
    struct bucket *best = NULL;
    for (; node && looks < shape->moved_locals; node = sorted_next(node)) {
        const struct host *host = container_of(node, struct fit, by_load)->host;
        const struct local_maps *local = TAILQ_FIRST(&host->locals);
        for (; local && looks < shape->moved_locals; local = TAILQ_NEXT(local, on_host)) {
            struct bucket *bucket = local->bucket;
            looks++;
            if (bucket->shape == shape && !local_refused(local) &&
                (!best || sorted_compare(bucket->job->turn, best->job->turn) < 0))
                best = bucket;
        }
    }
    engine->counters.visits += looks;
    shape->looked += looks;
    *ret_bucket = best;
    return looks < shape->moved_locals;
}

struct bucket *waiting_first(struct engine *engine, struct shape *shape)
{
    uint64_t all = UINT64_MAX;
    struct bucket *first;
    follow_moves(engine, shape, &shape->looked);
    if (!TAILQ_EMPTY(&shape->moved) &&
        (first_in_turn(engine, shape, &first) || first_on_hosts(engine, shape, &first)))
        return first;
    follow_moves(engine, shape, &all);
    struct sorted_node *host = sorted_first(&shape->local_hosts);
    if (!host)
        return NULL;
    const struct sorted *waiting = &container_of(host, struct host_shape, local_host)->waiting;
    return container_of(sorted_first(waiting), struct local_maps, waiting)->bucket;
}
