#include "lib/mincost/repair.h"

#include "lib/mincost/hubs.h"

#define UNLIMITED (INT64_C(1) << 61)

struct price_range {
    int64_t lowest, highest; /* −UNLIMITED, UNLIMITED where nothing limits */
};

static bool is_fresh(const struct mincost *m, uint32_t node)
{
    return m->price[node] == NO_PRICE;
}

static struct price_range find_price_range(struct mincost *m, uint32_t v)
{
    const struct node *node = &m->nodes[v];
    const struct half *half = m->halves + node->start, *stop = half + node->end[2];
    struct price_range range = {-UNLIMITED, UNLIMITED};
    m->work += node->end[2];
    for (; half < stop; half++) {
        if (is_fresh(m, half->head))
            continue;
        int64_t through = half_cost(m, half) + m->price[half->head];
        if ((half->ref & HALF_RESIDUAL) && through < range.highest)
            range.highest = through;
        if ((half->ref & HALF_MATE_RESIDUAL) && through > range.lowest)
            range.lowest = through;
    }
    return range;
}

static int64_t choose_price(const struct mincost *m, uint32_t v, struct price_range range)
{
    bool above = range.lowest > -UNLIMITED, below = range.highest < UNLIMITED;
    if (node_is_leaf(&m->nodes[v]) && range.lowest > range.highest)
        return range.highest;
    if (is_fresh(m, v)) {
        if (node_is_leaf(&m->nodes[v]))
            return below ? range.highest : above ? range.lowest : 0;
        return above ? range.lowest : below ? range.highest : 0;
    }
    int64_t price = m->price[v];
    if (range.lowest > range.highest)
        return price;
    return price < range.lowest ? range.lowest : price > range.highest ? range.highest : price;
}

/* Sends what the sign of the reduced cost asks for. */
static void fit_flow(struct mincost *m, uint32_t arc)
{
    uint32_t tail = arc_tail(m, arc), head = arc_head(m, arc);
    if (is_fresh(m, tail) || is_fresh(m, head))
        return;
    int64_t reduced = arc_reduced_cost(m, arc);
    uint32_t side = reduced > 0;
    int64_t amount = arc_residual(&m->arcs[arc], side);
    if (reduced == 0 || amount <= 0)
        return;
    graph_push(m, arc, side, amount);
    graph_mark_unbalanced(m, tail);
    graph_mark_unbalanced(m, head);
}

static void fit_node(struct mincost *m, uint32_t v)
{
    const struct node *node = &m->nodes[v];
    m->stack.count = 0; /* the arcs first: sending moves halves */
    for (uint32_t i = 0; i < node->end[2]; i++)
        list_add(m, &m->stack, half_arc(&m->halves[node->start + i]));
    for (uint32_t i = 0; i < m->stack.count; i++)
        fit_flow(m, m->stack.items[i]);
    m->stack.count = 0;
}

static void price_node(struct mincost *m, uint32_t v)
{
    struct price_range range = find_price_range(m, v);
    int64_t old = m->price[v];
    m->price[v] = choose_price(m, v, range);
    if (node_is_leaf(&m->nodes[v])) {
        hub_leaf_rose(m, v);
        if (m->price[v] < old || old == NO_PRICE)
            hub_leaf_fell(m, v);
    }
    if (m->price[v] < range.lowest || m->price[v] > range.highest)
        fit_node(m, v);
}

static bool outgrown(const struct mincost *m, uint32_t v)
{
    return m->supply[v] < (m->sink ? m->supply[m->sink] : 0);
}

void repair_elect_sink(struct mincost *m)
{
    if (!m->elect)
        return;
    m->elect = false;
    uint32_t old = m->sink;
    for (uint32_t v = 1; v <= m->max_node; v++)
        if (node_is_present(m, v) && outgrown(m, v))
            m->sink = v;
    if (m->sink != old && old)
        graph_mark_unbalanced(m, old);
}

/* Asks from memory what the next nodes to price read. */
ALWAYS_INLINE void look_ahead(const struct mincost *m, uint32_t i)
{
    enum { TABLES = 12, HALVES = 4 };
    const uint32_t *items = m->dirty_nodes.items;
    if (i + TABLES < m->dirty_nodes.count) {
        graph_prefetch_node(m, items[i + TABLES]);
        __builtin_prefetch(&m->price[items[i + TABLES]]);
        __builtin_prefetch(&m->posted[items[i + TABLES]]);
    }
    if (i + HALVES < m->dirty_nodes.count)
        graph_prefetch_halves(m, items[i + HALVES]);
}

static void price_dirty_nodes(struct mincost *m, bool leaves)
{
    for (uint32_t i = 0; i < m->dirty_nodes.count; i++) {
        uint32_t v = m->dirty_nodes.items[i];
        if (leaves)
            look_ahead(m, i);
        if (node_is_present(m, v) && node_is_leaf(&m->nodes[v]) == leaves)
            price_node(m, v);
    }
}

void repair_forget_changes(struct mincost *m)
{
    for (uint32_t i = 0; i < m->dirty_nodes.count; i++)
        m->nodes[m->dirty_nodes.items[i]].bits &= (uint8_t)~NODE_DIRTY;
    for (uint32_t i = 0; i < m->dirty_arcs.count; i++)
        m->arc_bits[m->dirty_arcs.items[i]] &= (uint8_t)~ARC_DIRTY;
    m->dirty_nodes.count = m->dirty_arcs.count = 0;
}

void repair_after_changes(struct mincost *m)
{
    price_dirty_nodes(m, false);
    price_dirty_nodes(m, true);
    for (uint32_t i = 0; i < m->dirty_arcs.count; i++)
        if (arc_is_present(m, m->dirty_arcs.items[i]))
            fit_flow(m, m->dirty_arcs.items[i]);
    repair_forget_changes(m);
}

void repair_all_arcs(struct mincost *m)
{
    for (uint32_t a = 1; a <= m->max_arc; a++)
        if (m->arc_bits[a] & ARC_PRESENT)
            fit_flow(m, a);
    m->work += m->arc_count;
    repair_forget_changes(m);
}

static void empty_all_arcs(struct mincost *m)
{
    for (uint32_t a = 1; a <= m->max_arc; a++) {
        if (!(m->arc_bits[a] & ARC_PRESENT) || m->arcs[a].flow == m->arcs[a].lower)
            continue;
        graph_push(m, a, 1, arc_residual(&m->arcs[a], 1));
    }
    m->work += m->arc_count;
}

/* Prices nodes that are not tasks in order of their hops to the sink. */
static void price_by_hops(struct mincost *m)
{
    m->settled.count = 0;
    m->stamp++;
    if (m->sink) {
        list_add(m, &m->settled, m->sink);
        m->labels[m->sink].stamp = m->stamp;
    }
    for (uint32_t i = 0; i < m->settled.count; i++) {
        uint32_t v = m->settled.items[i];
        price_node(m, v);
        const struct node *node = &m->nodes[v];
        m->work += node_degree(node);
        for (uint32_t k = node->end[0]; k < node->end[2]; k++) {
            uint32_t w = m->halves[node->start + k].head;
            if (m->labels[w].stamp == m->stamp || node_is_leaf(&m->nodes[w]))
                continue;
            m->labels[w].stamp = m->stamp;
            list_add(m, &m->settled, w);
        }
    }
    m->settled.count = 0;
}

void repair_from_nothing(struct mincost *m)
{
    hubs_forget(m);
    empty_all_arcs(m);
    for (uint32_t v = 1; v <= m->max_node; v++)
        if (node_is_present(m, v)) {
            m->price[v] = m->posted[v] = NO_PRICE;
            graph_mark_unbalanced(m, v);
        }
    price_by_hops(m);
    for (int leaves = 0; leaves <= 1; leaves++)
        for (uint32_t v = 1; v <= m->max_node; v++)
            if (node_is_present(m, v) && is_fresh(m, v) &&
                node_is_leaf(&m->nodes[v]) == (bool)leaves)
                price_node(m, v);
    repair_all_arcs(m);
}
