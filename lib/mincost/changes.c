/* Nodes and arcs that come, go and change one by one, and what that leaves of the solution. */
#include <errno.h>
#include <stdlib.h>

#include "lib/mincost/graph.h"
#include "lib/mincost/hubs.h"
#include "lib/mincost/market.h"

enum { LEAF_DEGREE = 64 };

int mincost_create(uint32_t nodes, uint32_t arcs, struct mincost **ret_problem)
{
    struct mincost *m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->bytes = sizeof *m;
    m->algorithm = mincost_algorithms[0];
    if (nodes > MINCOST_ID_MAX || arcs > MINCOST_ID_MAX || graph_reserve_nodes(m, nodes) ||
        graph_reserve_arcs(m, arcs)) {
        mincost_destroy(m);
        return -ENOMEM;
    }
    *ret_problem = m;
    return 0;
}

void mincost_destroy(struct mincost *m)
{
    if (!m)
        return;
    struct u32_list *lists[] = {&m->touched,    &m->dirty_arcs, &m->dirty_nodes,
                                &m->unbalanced, &m->stack,      &m->settled};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]->items);
    hubs_done(m);
    market_done(m);
    free(m->queue.items);
    free(m->dial.items);
    free(m->halves);
    free(m->arcs);
    free(m->arc_bits);
    free(m->wide_cost);
    free(m->nodes);
    free(m->price);
    free(m->excess);
    free(m->supply);
    free(m->labels);
    free(m->posted);
    free(m);
}

/* The first change after an optimum: from now on `kept` tells what it was. */
static void begin_change(struct mincost *m)
{
    m->changes++;
    if (m->pending)
        return;
    m->pending = true;
    m->touched.count = 0;
    if (m->bulky)
        memory_trim_touched(m);
}

static int64_t absolute(int64_t value)
{
    return value < 0 ? -value : value;
}

static void change_excess(struct mincost *m, uint32_t node, int64_t amount)
{
    m->excess[node] += amount;
    graph_mark_unbalanced(m, node);
}

static int add_node(struct mincost *m, uint32_t node)
{
    int error = graph_reserve_nodes(m, node);
    if (error)
        return error;
    if (node > m->max_node)
        m->max_node = node;
    struct node *n = &m->nodes[node];
    uint8_t listed = n->bits & (NODE_DIRTY | NODE_UNBALANCED);
    *n = (struct node){.bits = listed | NODE_PRESENT};
    m->price[node] = m->posted[node] = NO_PRICE;
    m->excess[node] = m->supply[node] = 0;
    m->labels[node].stamp = 0;
    m->node_count++;
    graph_mark_node_dirty(m, node);
    return 0;
}

int mincost_set_node(struct mincost *m, uint32_t node, int64_t supply)
{
    if (node < 1 || node > MINCOST_ID_MAX || absolute(supply) > MINCOST_SUPPLY_MAX)
        return -ERANGE;
    bool there = node_is_present(m, node);
    int64_t old = there ? m->supply[node] : 0;
    int64_t sum = m->supply_absolute - absolute(old) + absolute(supply);
    if (sum > MINCOST_SUPPLY_MAX)
        return -ERANGE;
    int error = there ? 0 : add_node(m, node);
    if (error)
        return error;
    begin_change(m);
    m->supply_absolute = sum;
    m->supply_sum += supply - old;
    m->sources += (uint32_t)(supply > 0) - (uint32_t)(old > 0);
    m->supply[node] = supply;
    if (supply != old)
        change_excess(m, node, supply - old);
    if (node != m->sink && supply < 0 && (!m->sink || supply / 2 < m->supply[m->sink]))
        m->elect = true;
    return m->failed;
}

int mincost_remove_node(struct mincost *m, uint32_t node)
{
    if (!node_is_present(m, node))
        return -ENOENT;
    if (node_degree(&m->nodes[node]))
        return -EBUSY;
    begin_change(m);
    hub_drop(m, node);
    m->supply_absolute -= absolute(m->supply[node]);
    m->supply_sum -= m->supply[node];
    m->sources -= m->supply[node] > 0;
    m->supply[node] = m->excess[node] = 0;
    m->nodes[node].bits &= (uint8_t)~NODE_PRESENT;
    m->node_count--;
    if (node == m->sink) {
        m->sink = NO_NODE;
        m->elect = true;
    }
    return 0;
}

static bool arc_in_range(int64_t lower, int64_t capacity, int64_t cost)
{
    return lower >= 0 && lower <= MINCOST_CAPACITY_MAX && capacity >= 0 &&
           capacity <= MINCOST_CAPACITY_MAX && absolute(cost) <= MINCOST_COST_MAX;
}

static void set_bounds(struct mincost *m, uint32_t arc, int64_t lower, int64_t capacity)
{
    bool crossed = lower > capacity, was = m->arc_bits[arc] & ARC_CROSSED;
    m->arcs[arc].lower = (int32_t)(crossed ? capacity : lower);
    m->arcs[arc].capacity = (int32_t)capacity;
    m->crossed_arcs += (uint32_t)crossed - (uint32_t)was;
    m->arc_bits[arc] = (uint8_t)((m->arc_bits[arc] & ~ARC_CROSSED) | (crossed ? ARC_CROSSED : 0));
}

/* A changed arc of a task has the task priced again; any other arc is checked alone. */
static void mark_changed(struct mincost *m, uint32_t arc, uint32_t tail)
{
    if (node_is_leaf(&m->nodes[tail]) && node_degree(&m->nodes[tail]) <= LEAF_DEGREE)
        graph_mark_node_dirty(m, tail);
    else
        graph_mark_arc_dirty(m, arc);
}

static void set_flow(struct mincost *m, uint32_t arc, uint32_t tail, uint32_t head, int64_t flow)
{
    struct arc *a = &m->arcs[arc];
    int64_t amount = flow - a->flow;
    if (amount == 0)
        return;
    graph_touch(m, arc);
    a->flow = (int32_t)flow;
    change_excess(m, tail, -amount);
    change_excess(m, head, amount);
}

int mincost_add_arc(struct mincost *m, uint32_t arc, uint32_t tail, uint32_t head, int64_t lower,
                    int64_t capacity, int64_t cost)
{
    if (arc < 1 || arc > MINCOST_ID_MAX || !arc_in_range(lower, capacity, cost))
        return -ERANGE;
    if (arc_is_present(m, arc))
        return -EEXIST;
    if (!node_is_present(m, tail) || !node_is_present(m, head))
        return -ENOENT;
    if (tail == head)
        return -EINVAL;
    int error = graph_reserve_arcs(m, arc);
    if (!error)
        error = graph_fit_cost(m, cost);
    if (error)
        return error;
    begin_change(m);
    if (arc > m->max_arc)
        m->max_arc = arc;
    m->arcs[arc].flow = m->arcs[arc].kept = 0;
    set_bounds(m, arc, lower, capacity);
    set_flow(m, arc, tail, head, m->arcs[arc].lower);
    error = graph_attach(m, arc, tail, head, cost);
    if (error)
        return m->failed = error;
    m->arc_bits[arc] |= ARC_PRESENT;
    m->arc_count++;
    m->cost += (__int128)cost * m->arcs[arc].flow;
    m->costs_at[cost_bits(cost)]++;
    mark_changed(m, arc, tail);
    hub_arc_added(m, arc, tail, head);
    return m->failed;
}

int mincost_modify_arc(struct mincost *m, uint32_t arc, int64_t lower, int64_t capacity,
                       int64_t cost)
{
    if (!arc_in_range(lower, capacity, cost))
        return -ERANGE;
    if (!arc_is_present(m, arc))
        return -ENOENT;
    int error = graph_fit_cost(m, cost);
    if (error)
        return error;
    begin_change(m);
    struct arc *a = &m->arcs[arc];
    uint32_t tail = arc_tail(m, arc), head = arc_head(m, arc);
    int64_t old_cost = arc_cost(m, arc);
    m->cost -= (__int128)old_cost * a->flow;
    set_bounds(m, arc, lower, capacity);
    int64_t flow = a->flow < a->lower ? a->lower : a->flow > a->capacity ? a->capacity : a->flow;
    set_flow(m, arc, tail, head, flow);
    m->cost += (__int128)cost * a->flow;
    m->costs_at[cost_bits(old_cost)]--;
    m->costs_at[cost_bits(cost)]++;
    graph_set_cost(m, arc, cost);
    graph_refresh(m, arc);
    mark_changed(m, arc, tail);
    hub_arc_changed(m, arc, tail, head);
    return m->failed;
}

int mincost_remove_arc(struct mincost *m, uint32_t arc)
{
    if (!arc_is_present(m, arc))
        return -ENOENT;
    begin_change(m);
    uint32_t tail = arc_tail(m, arc), head = arc_head(m, arc);
    int64_t cost = arc_cost(m, arc);
    m->cost -= (__int128)cost * m->arcs[arc].flow;
    m->costs_at[cost_bits(cost)]--;
    set_flow(m, arc, tail, head, 0);
    set_bounds(m, arc, 0, 0);
    hub_arc_removed(m, arc, tail, head);
    graph_detach(m, arc);
    m->arc_bits[arc] &= (uint8_t)~ARC_PRESENT;
    m->arc_count--;
    return m->failed;
}
