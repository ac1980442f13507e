#include <errno.h>

#include "controller/engine/mincost/graph.h"

/* What a change touches lies at the end of a chain: the arc's record tells where its halves are,
 * they tell its ends, those where the groups of their halves meet, and there stand the halves that
 * move when one comes or goes, whose arcs' records must follow. In a large problem each step waits
 * for memory. So every change is looked at ahead in stages, STRIDE changes apart, and each stage
 * asks for the next step only. The changes between may move things; then a place was asked for in
 * vain. */
enum { STRIDE = 12, STAGES = 5 };

typedef void stage(const struct mincost *m, const struct mincost_change *change);

static bool is_of_node(const struct mincost_change *change)
{
    return change->kind == MINCOST_NODE || change->kind == MINCOST_NODE_GONE;
}

static void ask_node_tables(const struct mincost *m, uint32_t node)
{
    graph_prefetch_node(m, node);
    __builtin_prefetch(&m->price[node]);
    __builtin_prefetch(&m->posted[node]);
    __builtin_prefetch(&m->excess[node]);
    __builtin_prefetch(&m->supply[node]);
    __builtin_prefetch(&m->labels[node]);
}

static void ask_records(const struct mincost *m, const struct mincost_change *change)
{
    if (is_of_node(change)) {
        if (change->id < m->nodes_room)
            ask_node_tables(m, change->id);
        return;
    }
    if (change->id < m->arcs_room) {
        __builtin_prefetch(&m->arcs[change->id]);
        __builtin_prefetch(&m->arc_bits[change->id]);
    }
    if (change->kind != MINCOST_ARC)
        return;
    if (change->tail < m->nodes_room)
        graph_prefetch_node(m, change->tail);
    if (change->head < m->nodes_room)
        graph_prefetch_node(m, change->head);
}

static void ask_halves(const struct mincost *m, const struct mincost_change *change)
{
    if (is_of_node(change) || change->kind == MINCOST_ARC || !arc_is_present(m, change->id))
        return;
    __builtin_prefetch(&m->halves[m->arcs[change->id].pos[0]]);
    __builtin_prefetch(&m->halves[m->arcs[change->id].pos[1]]);
}

/* The ends that a change of an arc has, as far as they are known; false without any. */
static bool find_ends(const struct mincost *m, const struct mincost_change *change,
                      uint32_t ret_ends[2])
{
    if (is_of_node(change))
        return false;
    if (change->kind == MINCOST_ARC) {
        ret_ends[0] = change->tail;
        ret_ends[1] = change->head;
        return node_is_present(m, change->tail) && node_is_present(m, change->head);
    }
    if (!arc_is_present(m, change->id))
        return false;
    ret_ends[0] = arc_tail(m, change->id);
    ret_ends[1] = arc_head(m, change->id);
    return true;
}

static void ask_ends(const struct mincost *m, const struct mincost_change *change)
{
    uint32_t ends[2];
    if (!find_ends(m, change, ends))
        return;
    for (int side = 0; side < 2; side++)
        graph_prefetch_node(m, ends[side]);
}

/* A half that comes passes the first of each group, one that goes the last. */
static uint32_t border_of(const struct node *node, unsigned group, bool last)
{
    return node->start + node->end[group] - last;
}

static void ask_borders(const struct mincost *m, const struct mincost_change *change)
{
    uint32_t ends[2];
    if (change->kind == MINCOST_ARC_MODIFIED || !find_ends(m, change, ends))
        return;
    for (int side = 0; side < 2; side++) {
        const struct node *node = &m->nodes[ends[side]];
        for (unsigned group = 0; group < 4; group++)
            __builtin_prefetch(&m->halves[border_of(node, group, true)]);
    }
}

static void ask_movers(const struct mincost *m, const struct mincost_change *change)
{
    uint32_t ends[2];
    if (change->kind == MINCOST_ARC_MODIFIED || !find_ends(m, change, ends))
        return;
    bool last = change->kind == MINCOST_ARC_GONE;
    for (int side = 0; side < 2; side++) {
        const struct node *node = &m->nodes[ends[side]];
        uint32_t degree = node_degree(node);
        for (unsigned group = 0; group < 4; group++) {
            uint32_t i = node->end[group] - last;
            if (i < degree)
                __builtin_prefetch(&m->arcs[half_arc(&m->halves[node->start + i])]);
        }
    }
}

static int make_change(struct mincost *m, const struct mincost_change *c)
{
    switch (c->kind) {
    case MINCOST_NODE:
        return mincost_set_node(m, c->id, c->cost);
    case MINCOST_NODE_GONE:
        return mincost_remove_node(m, c->id);
    case MINCOST_ARC:
        return mincost_add_arc(m, c->id, c->tail, c->head, c->lower, c->capacity, c->cost);
    case MINCOST_ARC_MODIFIED:
        return mincost_modify_arc(m, c->id, c->lower, c->capacity, c->cost);
    case MINCOST_ARC_GONE:
        return mincost_remove_arc(m, c->id);
    }
    return -EINVAL;
}

int mincost_apply(struct mincost *m, const struct mincost_change *changes, size_t count,
                  size_t *ret_done)
{
    static stage *const stages[STAGES] = {ask_records, ask_halves, ask_ends, ask_borders,
                                          ask_movers};
    size_t done = 0;
    int error = 0;
    for (size_t step = 0; done < count && !error; step++) {
        for (size_t s = 0; s < STAGES; s++)
            if (step - s * STRIDE < count) /* else before the first or after the last */
                stages[s](m, &changes[step - s * STRIDE]);
        if (step < STAGES * STRIDE)
            continue;
        error = make_change(m, &changes[done]);
        done += !error;
    }
    if (ret_done)
        *ret_done = done;
    return error;
}
