#include <errno.h>
#include <string.h>

#include "lib/mincost/graph.h"
#include "lib/mincost/hubs.h"

enum { GROUP_RESIDUAL, GROUP_BOTH, GROUP_MATE, GROUP_NEITHER };

/* Bits of a half (residual, mate residual) to its group. */
static unsigned group_of(uint32_t ref)
{
    static const uint8_t group[4] = {GROUP_NEITHER, GROUP_RESIDUAL, GROUP_MATE, GROUP_BOTH};
    return group[(ref >> 1) & 3];
}

static void place_half(struct mincost *m, uint32_t pos, struct half half)
{
    m->halves[pos] = half;
    m->arcs[half_arc(&half)].pos[half.ref & HALF_AT_HEAD] = pos;
}

/* Makes the place at `pos` one of another group by one move at each border between them, and
 * returns where it then is; what stood there is the caller's to place. */
static uint32_t move_place(struct mincost *m, struct node *node, uint32_t pos, unsigned from,
                           unsigned to)
{
    for (; from < to; from++) {
        uint32_t last = node->start + --node->end[from];
        if (pos != last)
            place_half(m, pos, m->halves[last]);
        pos = last;
    }
    for (; from > to; from--) {
        uint32_t first = node->start + node->end[from - 1]++;
        if (pos != first)
            place_half(m, pos, m->halves[first]);
        pos = first;
    }
    return pos;
}

static uint32_t residual_bits(const struct arc *arc, uint32_t side)
{
    return (arc_residual(arc, side) > 0 ? HALF_RESIDUAL : 0) |
           (arc_residual(arc, !side) > 0 ? HALF_MATE_RESIDUAL : 0);
}

static void refresh_half(struct mincost *m, uint32_t arc, uint32_t side, uint32_t owner)
{
    uint32_t pos = m->arcs[arc].pos[side];
    uint32_t old = m->halves[pos].ref;
    uint32_t ref = (old & ~(uint32_t)(HALF_RESIDUAL | HALF_MATE_RESIDUAL)) |
                   residual_bits(&m->arcs[arc], side);
    if (ref == old)
        return;
    struct half half = m->halves[pos];
    half.ref = ref;
    pos = move_place(m, &m->nodes[owner], pos, group_of(old), group_of(ref));
    place_half(m, pos, half);
}

void graph_refresh(struct mincost *m, uint32_t arc)
{
    uint32_t tail = arc_tail(m, arc), head = arc_head(m, arc);
    refresh_half(m, arc, 0, tail);
    refresh_half(m, arc, 1, head);
}

/* By two halves, or by an eighth where that is more. */
static uint8_t grown_class(uint8_t size_class)
{
    return (uint8_t)(size_class + (size_class < 16 ? 2 : 1));
}

/* Makes room for one more half in the node's block. */
static int grow_block(struct mincost *m, struct node *node)
{
    uint32_t count = node_degree(node), start;
    if (count && count < block_size(node->size_class))
        return 0;
    uint8_t size_class = count ? grown_class(node->size_class) : 9;
    int error = block_take(m, size_class, &start); /* may move all blocks that hold halves */
    if (error)
        return error;
    for (uint32_t i = 0; i < count; i++)
        place_half(m, start + i, m->halves[node->start + i]);
    if (count)
        block_give(m, node->size_class, node->start);
    node->start = start;
    node->size_class = size_class;
    return 0;
}

static int insert_half(struct mincost *m, uint32_t owner, struct half half)
{
    struct node *node = &m->nodes[owner];
    int error = grow_block(m, node);
    if (error)
        return error;
    uint32_t pos = node->start + node->end[GROUP_NEITHER]++;
    place_half(m, move_place(m, node, pos, GROUP_NEITHER, group_of(half.ref)), half);
    return 0;
}

static void take_half(struct mincost *m, uint32_t owner, uint32_t pos)
{
    struct node *node = &m->nodes[owner];
    unsigned group = group_of(m->halves[pos].ref);
    for (; group <= GROUP_NEITHER; group++) {
        uint32_t last = node->start + --node->end[group];
        if (pos != last)
            place_half(m, pos, m->halves[last]);
        pos = last;
    }
    if (node_degree(node) == 0)
        block_give(m, node->size_class, node->start);
}

void graph_set_cost(struct mincost *m, uint32_t arc, int64_t cost)
{
    if (m->wide) {
        m->wide_cost[arc] = cost;
        return;
    }
    m->halves[m->arcs[arc].pos[0]].near_cost = (int32_t)cost;
    m->halves[m->arcs[arc].pos[1]].near_cost = (int32_t)-cost;
}

int graph_fit_cost(struct mincost *m, int64_t cost)
{
    if (m->wide || cost_bits(cost) <= COST_NEAR_BITS)
        return 0;
    if (!m->wide_cost &&
        !(m->wide_cost = memory_resize(m, NULL, 0, m->arcs_allocated, sizeof *m->wide_cost)))
        return -ENOMEM;
    for (uint32_t a = 1; a <= m->max_arc; a++)
        if (m->arc_bits[a] & ARC_PRESENT)
            m->wide_cost[a] = arc_cost(m, a);
    m->wide = true;
    return 0;
}

void graph_narrow_costs(struct mincost *m)
{
    if (!m->wide)
        return;
    for (unsigned bits = COST_NEAR_BITS + 1; bits < sizeof m->costs_at / sizeof *m->costs_at;
         bits++)
        if (m->costs_at[bits])
            return;
    m->wide = false;
    for (uint32_t a = 1; a <= m->max_arc; a++)
        if (m->arc_bits[a] & ARC_PRESENT)
            graph_set_cost(m, a, m->wide_cost[a]);
}

int graph_attach(struct mincost *m, uint32_t arc, uint32_t tail, uint32_t head, int64_t cost)
{
    const struct arc *a = &m->arcs[arc];
    uint32_t ref = arc << HALF_ARC_SHIFT;
    int32_t near_cost = m->wide ? 0 : (int32_t)cost;
    int error = insert_half(m, tail, (struct half){near_cost, head, ref | residual_bits(a, 0)});
    if (error)
        return error;
    ref |= HALF_AT_HEAD | residual_bits(a, 1);
    error = insert_half(m, head, (struct half){-near_cost, tail, ref});
    if (error)
        return error;
    if (m->wide)
        m->wide_cost[arc] = cost;
    m->nodes[head].in_arcs++;
    return 0;
}

void graph_detach(struct mincost *m, uint32_t arc)
{
    uint32_t tail = arc_tail(m, arc), head = arc_head(m, arc);
    take_half(m, tail, m->arcs[arc].pos[0]);
    take_half(m, head, m->arcs[arc].pos[1]);
    m->nodes[head].in_arcs--;
}

void graph_touch(struct mincost *m, uint32_t arc)
{
    if (m->arc_bits[arc] & ARC_TOUCHED)
        return;
    m->arc_bits[arc] |= ARC_TOUCHED;
    m->arcs[arc].kept = m->arcs[arc].flow;
    list_add(m, &m->touched, arc);
}

void graph_push(struct mincost *m, uint32_t arc, uint32_t side, int64_t amount)
{
    struct arc *a = &m->arcs[arc];
    uint32_t tail = arc_tail(m, arc), head = arc_head(m, arc);
    graph_touch(m, arc);
    if (side)
        amount = -amount;
    a->flow = (int32_t)(a->flow + amount);
    m->excess[tail] -= amount;
    m->excess[head] += amount;
    m->cost += (__int128)arc_cost(m, arc) * amount;
    refresh_half(m, arc, 0, tail);
    refresh_half(m, arc, 1, head);
    hub_arc_flowed(m, arc);
}

void graph_mark_node_dirty(struct mincost *m, uint32_t node)
{
    if (m->nodes[node].bits & NODE_DIRTY)
        return;
    m->nodes[node].bits |= NODE_DIRTY;
    list_add(m, &m->dirty_nodes, node);
}

void graph_mark_arc_dirty(struct mincost *m, uint32_t arc)
{
    if (m->arc_bits[arc] & ARC_DIRTY)
        return;
    m->arc_bits[arc] |= ARC_DIRTY;
    list_add(m, &m->dirty_arcs, arc);
}

void graph_mark_unbalanced(struct mincost *m, uint32_t node)
{
    if (m->nodes[node].bits & NODE_UNBALANCED)
        return;
    m->nodes[node].bits |= NODE_UNBALANCED;
    list_add(m, &m->unbalanced, node);
}
