#include "controller/engine/watch/homes.h"

static struct bucket *first_on(const struct queues *queues, uint64_t host)
{
    struct sorted_node *node = sorted_from(&queues->at_home, (struct sorted_key){host, 0, 0});
    return node && node->key.a == host ? container_of(node, struct bucket, at_home) : NULL;
}

/* The host's first bucket is among the first of all hosts while the host has room. */
static void follow(struct queues *queues, uint64_t host)
{
    struct bucket *first = first_on(queues, host);
    if (!first)
        return;
    if (first->home->shapes[first->shape->index]->fitting)
        sorted_place(&queues->first_at_home, &first->first_at_home, first->job->turn, 0);
    else
        sorted_remove(&queues->first_at_home, &first->first_at_home);
}

static void leave(struct bucket *bucket)
{
    struct queues *queues = bucket->queues;
    uint64_t host = bucket->home->index;
    sorted_remove(&queues->at_home, &bucket->at_home);
    sorted_remove(&queues->first_at_home, &bucket->first_at_home);
    bucket->home = NULL;
    follow(queues, host);
}

void homes_place(struct bucket *bucket, struct host *home)
{
    struct queues *queues = bucket->queues;
    const struct sorted_key key = {home ? home->index : 0, bucket->job->turn.a,
                                   bucket->job->turn.b};
    if (bucket->home)
        leave(bucket);
    if (!home)
        return;
    struct bucket *before = first_on(queues, home->index);
    bucket->home = home;
    sorted_insert(&queues->at_home, &bucket->at_home, key, 0);
    if (before && first_on(queues, home->index) == bucket)
        sorted_remove(&queues->first_at_home, &before->first_at_home);
    follow(queues, home->index);
}

static void follow_all(struct engine *engine, struct queues *queues)
{
    struct sorted_node *node = sorted_first(&queues->at_home);
    while (node) {
        uint64_t host = node->key.a;
        engine->counters.visits++;
        follow(queues, host);
        node = sorted_from(&queues->at_home, (struct sorted_key){host + 1, 0, 0});
    }
}

static void follow_changes(struct engine *engine, struct queues *queues)
{
    uint64_t from = queues->homes_seen;
    queues->homes_seen = engine->n_changes;
    if (engine->n_changes - from > CHANGES) {
        follow_all(engine, queues);
        return;
    }
    for (; from < engine->n_changes; from++) {
        engine->counters.visits++;
        follow(queues, engine->changes[from % CHANGES]);
    }
}

/* WHY changes are skipped while no bucket has a home: a new one starts from the room of its
 * moment. */
struct bucket *homes_first(struct engine *engine, struct queues *queues)
{
    if (!queues->at_home.n) {
        queues->homes_seen = engine->n_changes;
        return NULL;
    }
    follow_changes(engine, queues);
    struct sorted_node *node = sorted_first(&queues->first_at_home);
    return node ? container_of(node, struct bucket, first_at_home) : NULL;
}
