#include "testbed/sim/network/heap.h"

#include "lib/grow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static bool less(struct heap_item a, struct heap_item b)
{
    return a.key < b.key || (a.key == b.key && a.id < b.id);
}

static void put(struct heap *h, uint32_t *where, uint32_t at, struct heap_item item)
{
    h->items[at] = item;
    if (where)
        where[item.id] = at;
}

static void sift_up(struct heap *h, uint32_t *where, uint32_t at, struct heap_item item)
{
    while (at > 0 && less(item, h->items[(at - 1) / 2])) {
        put(h, where, at, h->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(h, where, at, item);
}

static void sift_down(struct heap *h, uint32_t *where, uint32_t at, struct heap_item item)
{
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < h->n && less(h->items[child + 1], h->items[child]))
            child++;
        if (child >= h->n || !less(h->items[child], item))
            break;
        put(h, where, at, h->items[child]);
        at = child;
    }
    put(h, where, at, item);
}

static void settle(struct heap *h, uint32_t *where, uint32_t at, struct heap_item item)
{
    if (at > 0 && less(item, h->items[(at - 1) / 2]))
        sift_up(h, where, at, item);
    else
        sift_down(h, where, at, item);
}

int heap_push(struct heap *h, uint32_t *where, double key, uint32_t id)
{
    if (!array_grow(h->items, h->n, h->allocated, 4))
        return -ENOMEM;
    h->n++;
    sift_up(h, where, h->n - 1, (struct heap_item){key, id});
    return 0;
}

static void remove_at(struct heap *h, uint32_t *where, uint32_t at)
{
    if (where)
        where[h->items[at].id] = HEAP_NOWHERE;
    struct heap_item last = h->items[--h->n];
    if (at < h->n)
        settle(h, where, at, last);
}

struct heap_item heap_pop(struct heap *h, uint32_t *where)
{
    struct heap_item top = h->items[0];
    remove_at(h, where, 0);
    return top;
}

void heap_take(struct heap *h, uint32_t *where, uint32_t id)
{
    remove_at(h, where, where[id]);
}

int heap_set(struct heap *h, uint32_t *where, double key, uint32_t id)
{
    if (where[id] == HEAP_NOWHERE)
        return isinf(key) ? 0 : heap_push(h, where, key, id);
    if (isinf(key))
        heap_take(h, where, id);
    else
        settle(h, where, where[id], (struct heap_item){key, id});
    return 0;
}

void heap_done(struct heap *h)
{
    free(h->items);
    *h = (struct heap){0};
}
