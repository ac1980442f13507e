#include "controller/engine/watch/waiting.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/table.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/policy/questions.h"
#include "lib/invariant.h"

#include <stdlib.h>

/* What updating a moved local costs, in looks at one that may be out of place. */
enum { FOLLOWING = 2 };

static struct host_shape *host_shape_of(const struct local_maps *local)
{
    return local->host->shapes[local->bucket->shape->index];
}

static struct host_queue *queue_of(const struct local_maps *local)
{
    return local->of_user ? local->of_user : &host_shape_of(local)->all;
}

static void place(struct local_maps *local)
{
    struct host_queue *queue = queue_of(local);
    const struct job *job = local->bucket->job;
    struct sorted_key key = {job->turn.a, job->turn.b, 0};
    if (local->n && !local_refused(local))
        sorted_place(&queue->waiting, &local->waiting, key, 0);
    else
        sorted_remove(&queue->waiting, &local->waiting);
    host_queue_update(queue, host_shape_of(local));
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
    struct queues *queues = bucket->queues;
    if (bucket->moved || !bucket->locals.n)
        return;
    bucket->moved = true;
    queues->moved_locals += bucket->locals.n;
    TAILQ_INSERT_TAIL(&queues->moved, bucket, of_moved);
}

void waiting_forget(struct bucket *bucket)
{
    if (!bucket->moved)
        return;
    bucket->moved = false;
    assert(bucket->queues->moved_locals >= bucket->locals.n);
    bucket->queues->moved_locals -= bucket->locals.n;
    TAILQ_REMOVE(&bucket->queues->moved, bucket, of_moved);
}

static struct host_queue *make_queue(struct engine *engine, const struct local_maps *local)
{
    struct queues *queues = local->bucket->queues;
    struct host_queue *queue = engine_allocate(engine, 1, sizeof(*queue));
    queue->host = local->host;
    queue->queues = queues;
    table_put(engine, &queues->hosts, local->host->index, queue);
    TAILQ_INSERT_TAIL(&host_shape_of(local)->of_users, queue, of_shape);
    return queue;
}

static void enter(struct engine *engine, struct local_maps *local)
{
    const struct queues *queues = local->bucket->queues;
    if (!queues->user)
        return;
    struct host_queue *queue = table_find(&queues->hosts, local->host->index);
    local->of_user = queue ? queue : make_queue(engine, local);
    local->of_user->locals++;
}

void waiting_gone(struct local_maps *local)
{
    struct host_queue *queue = local->of_user;
    local->of_user = NULL;
    if (!queue || --queue->locals)
        return;
    assert(!queue->waiting.n && !queue->begun.n);
    TAILQ_REMOVE(&host_shape_of(local)->of_users, queue, of_shape);
    table_drop(&queue->queues->hosts, local->host->index);
    free(queue->begun.at);
    free(queue);
}

struct begun *waiting_begun(const struct local_maps *local)
{
    return local->of_user ? &local->of_user->begun : &local->host->begun;
}

/* WHY not at once while buckets are in `moved`: questions ask those by themselves, too, or no
 * policy asks. */
void waiting_come(struct engine *engine, struct local_maps *local)
{
    struct bucket *bucket = local->bucket;
    bool later = !engine->place->first_local || !TAILQ_EMPTY(&bucket->queues->moved);
    enter(engine, local);
    if (bucket->moved)
        bucket->queues->moved_locals++;
    else if (bucket->locals.n == 1 && later)
        waiting_move(bucket);
}

void waiting_leave(struct local_maps *local)
{
    struct bucket *bucket = local->bucket;
    struct host_queue *queue = queue_of(local);
    if (local->waiting.in) {
        sorted_remove(&queue->waiting, &local->waiting);
        host_queue_update(queue, host_shape_of(local));
    }
    if (bucket->moved && bucket->locals.n == 1)
        waiting_forget(bucket);
    else if (bucket->moved)
        bucket->queues->moved_locals--;
}

void waiting_change_queues(struct engine *engine, struct bucket *bucket, struct queues *queues)
{
    struct local_maps *local;
    waiting_forget(bucket);
    for (uint32_t at = 0; (local = table_next(&bucket->locals, &at));) {
        waiting_leave(local);
        waiting_gone(local);
    }
    bucket->queues = queues;
    for (uint32_t at = 0; (local = table_next(&bucket->locals, &at));)
        enter(engine, local);
    waiting_move(bucket);
}

/* Updates buckets that cost at most this many looks. */
static void follow_moves(struct engine *engine, struct queues *queues, uint64_t *most)
{
    struct bucket *bucket;
    while ((bucket = TAILQ_FIRST(&queues->moved)) && *most / FOLLOWING >= bucket->locals.n) {
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

static void count_looks(struct engine *engine, struct queues *queues, uint64_t looks)
{
    engine->counters.visits += looks;
    queues->looked += looks;
}

/* Asks the jobs in order: nearly always one of the first has a map there. False: given up, since it
 * took as many looks as other ways may. */
static bool first_in_turn(struct engine *engine, struct queues *queues, struct bucket **ret_bucket)
{
    uint64_t looks = 0, most = queues->moved_locals / 4;
    struct sorted_node *node = sorted_first_below(&queues->maps, UINT64_MAX);
    *ret_bucket = NULL;
    while (node && looks <= most && !*ret_bucket) {
        struct bucket *bucket = container_of(node, struct bucket, by_turn_maps);
        if (waits_with_room(bucket, &looks))
            *ret_bucket = bucket;
        node = sorted_next_below(node, UINT64_MAX);
    }
    count_looks(engine, queues, looks);
    return *ret_bucket || !node;
}

static struct bucket *sooner(struct bucket *a, struct bucket *b)
{
    return b && (!a || sorted_compare(b->job->turn, a->job->turn) < 0) ? b : a;
}

/* The first that waits on this host with room: of those in order, and of those that moved. */
static struct bucket *first_on(const struct shape *shape, struct queues *queues,
                               const struct host *host, uint64_t *looks)
{
    const struct host_queue *queue =
        queues->user ? table_find(&queues->hosts, host->index) : &host->shapes[shape->index]->all;
    struct sorted_node *node = queue ? sorted_first(&queue->waiting) : NULL;
    struct bucket *best = NULL, *bucket;
    for (; node && !best; node = sorted_next(node), ++*looks) {
        bucket = container_of(node, struct local_maps, waiting)->bucket;
        best = bucket->moved ? NULL : bucket;
    }
    TAILQ_FOREACH (bucket, &queues->moved, of_moved) {
        const struct local_maps *local = table_find(&bucket->locals, host->index);
        ++*looks;
        if (local && local->n && !local_refused(local))
            best = sooner(best, bucket);
    }
    return best;
}

/* Asks the hosts with room. False: given up, as above. */
static bool first_on_hosts(struct engine *engine, const struct shape *shape, struct queues *queues,
                           struct bucket **ret_bucket)
{
    uint64_t looks = 0;
    struct sorted_node *node = sorted_first(&shape->by_load);
    *ret_bucket = NULL;
    for (; node && looks < queues->moved_locals; node = sorted_next(node)) {
        const struct host *host = container_of(node, struct fit, by_load)->host;
        *ret_bucket = sooner(*ret_bucket, first_on(shape, queues, host, &looks));
    }
    count_looks(engine, queues, looks);
    return !node;
}

/* Room that came or went on hosts where the user waits. */
static void follow_rooms(struct engine *engine, const struct shape *shape, struct queues *queues)
{
    uint64_t behind = engine->n_changes - queues->rooms_seen, looks = 0;
    struct host_queue *queue;
    bool all = behind > CHANGES || behind > queues->hosts.n;
    for (uint32_t at = 0; all && (queue = table_next(&queues->hosts, &at)); looks++)
        host_queue_update(queue, queue->host->shapes[shape->index]);
    for (uint64_t i = queues->rooms_seen; !all && i < engine->n_changes; i++, looks++)
        if ((queue = table_find(&queues->hosts, engine->changes[i % CHANGES])))
            host_queue_update(queue, queue->host->shapes[shape->index]);
    queues->rooms_seen = engine->n_changes;
    engine->counters.visits += looks;
}

/* The same without the order of hosts, where few have room. */
static struct bucket *first_in_rooms(struct engine *engine, const struct shape *shape,
                                     struct queues *queues)
{
    struct bucket *best = NULL;
    uint64_t looks = 0;
    for (struct sorted_node *node = sorted_first(&shape->by_load); node; node = sorted_next(node))
        best = sooner(
            best, first_on(shape, queues, container_of(node, struct fit, by_load)->host, &looks));
    engine->counters.visits += looks;
    return best;
}

static bool has_few_rooms(const struct engine *engine, const struct shape *shape,
                          const struct queues *queues)
{
    uint64_t behind = engine->n_changes - queues->rooms_seen;
    return shape->by_load.n < behind && shape->by_load.n < queues->hosts.n;
}

struct bucket *waiting_first(struct engine *engine, const struct shape *shape,
                             struct queues *queues)
{
    uint64_t all = UINT64_MAX;
    struct bucket *first;
    follow_moves(engine, queues, &queues->looked);
    if (engine->asked_host) {
        uint64_t looks = 0;
        first = first_on(shape, queues, engine->asked_host, &looks);
        count_looks(engine, queues, looks);
        return first;
    }
    if (!TAILQ_EMPTY(&queues->moved) &&
        (first_in_turn(engine, queues, &first) || first_on_hosts(engine, shape, queues, &first)))
        return first;
    follow_moves(engine, queues, &all);
    if (queues->user && has_few_rooms(engine, shape, queues))
        return first_in_rooms(engine, shape, queues);
    if (queues->user)
        follow_rooms(engine, shape, queues);
    struct sorted_node *host = sorted_first(&queues->local_hosts);
    if (!host)
        return NULL;
    const struct sorted *waiting = &container_of(host, struct host_queue, local_host)->waiting;
    return container_of(sorted_first(waiting), struct local_maps, waiting)->bucket;
}
