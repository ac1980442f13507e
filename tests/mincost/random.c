#include "tests/mincost/random.h"

#include <stdlib.h>

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(uint64_t *stream, uint64_t below)
{
    uint64_t z = (*stream += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

struct random_shape random_shape_draw(uint64_t *stream)
{
    static const int64_t costs[] = {3, 20, 1000, (INT64_C(1) << 29) + 5, INT64_C(1) << 40};
    uint32_t nodes = 3 + (uint32_t)draw(stream, 14);
    return (struct random_shape){
        .nodes = nodes,
        .arcs = nodes * (2 + (uint32_t)draw(stream, 5)),
        .largest_cost = costs[draw(stream, 5)],
        .backbone = draw(stream, 4),
        .tasks = draw(stream, 2),
    };
}

static void put(struct plain *plain, struct changes *changes, struct mincost_change change)
{
    changes_add(changes, change);
    plain_apply(plain, &change);
}

static bool node_there(const struct plain *plain, uint32_t id)
{
    return id <= plain->max_node && plain->node_there[id];
}

static int64_t draw_cost(const struct random_shape *shape, uint64_t *stream)
{
    int64_t cost = (int64_t)draw(stream, (uint64_t)shape->largest_cost + 1);
    return draw(stream, 4) ? cost : -cost;
}

static void draw_bounds(uint64_t *stream, int64_t *lower, int64_t *capacity)
{
    *capacity = draw(stream, 6) ? (int64_t)draw(stream, 8) : 0;
    *lower = draw(stream, 30) ? 0 : (int64_t)draw(stream, 3);
}

static void add_arc(struct plain *plain, const struct random_shape *shape, uint64_t *stream,
                    struct changes *changes, uint32_t id)
{
    uint32_t tail = 1 + (uint32_t)draw(stream, shape->nodes);
    uint32_t head = 1 + (uint32_t)draw(stream, shape->nodes);
    if (shape->tasks && head > shape->nodes / 2)
        head = 1 + head / 3;
    if (tail == head || !node_there(plain, tail) || !node_there(plain, head))
        return;
    struct mincost_change change = {MINCOST_ARC, id, tail, head, 0, 0, draw_cost(shape, stream)};
    draw_bounds(stream, &change.lower, &change.capacity);
    put(plain, changes, change);
}

static void change_arc(struct plain *plain, const struct random_shape *shape, uint64_t *stream,
                       struct changes *changes)
{
    uint32_t id = 1 + (uint32_t)draw(stream, shape->arcs);
    if (shape->backbone && id < 2 * shape->nodes && draw(stream, 12))
        id = shape->arcs;
    bool there = id <= plain->max_arc && plain->arcs[id].tail;
    if (!there) {
        add_arc(plain, shape, stream, changes, id);
        return;
    }
    if (draw(stream, 3) == 0) {
        struct mincost_change change = {
            .kind = MINCOST_ARC_MODIFIED, .id = id, .cost = draw_cost(shape, stream)};
        draw_bounds(stream, &change.lower, &change.capacity);
        put(plain, changes, change);
        return;
    }
    put(plain, changes, (struct mincost_change){.kind = MINCOST_ARC_GONE, .id = id});
    if (draw(stream, 4))
        add_arc(plain, shape, stream, changes, id);
}

static void remove_node(struct plain *plain, uint32_t id, struct changes *changes)
{
    for (uint32_t a = 1; a <= plain->max_arc; a++)
        if (plain->arcs[a].tail && (plain->arcs[a].tail == id || plain->arcs[a].head == id))
            put(plain, changes, (struct mincost_change){.kind = MINCOST_ARC_GONE, .id = a});
    put(plain, changes, (struct mincost_change){.kind = MINCOST_NODE_GONE, .id = id});
}

static int64_t draw_supply(const struct random_shape *shape, uint64_t *stream, uint32_t id)
{
    if (shape->tasks)
        return id > shape->nodes / 2 ? 1 : 0;
    return draw(stream, 2) ? (int64_t)draw(stream, 7) - 3 : 0;
}

static void change_node(struct plain *plain, const struct random_shape *shape, uint64_t *stream,
                        struct changes *changes)
{
    uint32_t id = 1 + (uint32_t)draw(stream, shape->nodes);
    if (node_there(plain, id) && draw(stream, 5) == 0) {
        remove_node(plain, id, changes);
        if (draw(stream, 2))
            return;
    }
    int64_t supply = draw_supply(shape, stream, id);
    put(plain, changes, (struct mincost_change){.kind = MINCOST_NODE, .id = id, .cost = supply});
}

static void add_backbone(struct plain *plain, const struct random_shape *shape, uint64_t *stream,
                         struct changes *changes)
{
    for (uint32_t v = 2; v <= shape->nodes; v++) {
        int64_t cost = draw_cost(shape, stream);
        put(plain, changes, (struct mincost_change){MINCOST_ARC, v - 1, v, 1, 0, 9, cost});
        if (!shape->tasks || v <= shape->nodes / 2)
            put(plain, changes,
                (struct mincost_change){MINCOST_ARC, v + shape->nodes, 1, v, 0, 9,
                                        shape->largest_cost});
    }
}

/* Sets the supply of one node so that the sum is 0, mostly. */
static void settle_supplies(struct plain *plain, uint64_t *stream, struct changes *changes)
{
    int64_t sum = 0;
    uint32_t last = 0;
    if (draw(stream, 40) == 0)
        return;
    for (uint32_t v = plain->max_node; v >= 1; v--)
        if (plain->node_there[v]) {
            sum += plain->supply[v];
            last = v;
        }
    if (last && sum)
        put(plain, changes,
            (struct mincost_change){
                .kind = MINCOST_NODE, .id = last, .cost = plain->supply[last] - sum});
}

void random_round(struct plain *plain, const struct random_shape *shape, uint64_t *stream,
                  struct changes *changes)
{
    bool first = plain->max_node == 0;
    if (first) {
        for (uint32_t v = 1; v <= shape->nodes; v++)
            put(plain, changes,
                (struct mincost_change){MINCOST_NODE, v, 0, 0, 0, 0,
                                        draw_supply(shape, stream, v)});
        if (shape->backbone)
            add_backbone(plain, shape, stream, changes);
        for (uint32_t a = plain->max_arc + 1; a <= shape->arcs; a++)
            add_arc(plain, shape, stream, changes, a);
    }
    uint64_t count = draw(stream, 20) ? draw(stream, 4) : draw(stream, 2 * shape->arcs);
    for (uint64_t i = 0; i < count; i++) {
        if (draw(stream, 4))
            change_arc(plain, shape, stream, changes);
        else
            change_node(plain, shape, stream, changes);
    }
    settle_supplies(plain, stream, changes);
}
