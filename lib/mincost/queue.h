/* A heap of nodes by distance, four children to each entry; equal keys leave in an order that
 * depends on the calls only. Entries are never decreased: a better one is put in again and the
 * stale one is known by its key. Holds at most one entry for each improvement of a label. */
#pragma once

#include "lib/mincost/memory.h"

struct queue_entry {
    int64_t key;
    uint32_t node;
};

struct queue {
    struct queue_entry *items;
    uint32_t count, allocated;
};

/* `m` counts its memory. */
static inline void queue_put(struct mincost *m, struct queue *queue, int64_t key, uint32_t node)
{
    if (queue->count == queue->allocated &&
        memory_grow(m, (void **)&queue->items, &queue->allocated, sizeof *queue->items))
        return;
    struct queue_entry *items = queue->items;
    uint32_t i = queue->count++;
    while (i > 0 && items[(i - 1) / 4].key > key) {
        items[i] = items[(i - 1) / 4];
        i = (i - 1) / 4;
    }
    items[i] = (struct queue_entry){key, node};
}

static inline uint32_t queue_least_child(const struct queue *queue, uint32_t i)
{
    uint32_t first = 4 * i + 1, stop = first + 4, best = first;
    if (stop > queue->count)
        stop = queue->count;
    for (uint32_t child = first + 1; child < stop; child++)
        if (queue->items[child].key < queue->items[best].key)
            best = child;
    return best;
}

/* Takes the least entry of a queue that is not empty. */
static inline struct queue_entry queue_take(struct queue *queue)
{
    struct queue_entry *items = queue->items, least = items[0], last = items[--queue->count];
    uint32_t i = 0;
    while (4 * i + 1 < queue->count) {
        uint32_t child = queue_least_child(queue, i);
        if (items[child].key >= last.key)
            break;
        items[i] = items[child];
        i = child;
    }
    items[i] = last;
    return least;
}
