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

/* ---- many costs at once ---- */

enum { SHIFTS_LEAST = 64, SHIFT_WORK = 8 };
#define LOWEST_PRICE (-(INT64_C(1) << 58))

/* It can carry more and less, so its cost must be the difference of its ends' prices. WHY not where
 * its tail lacks units, as a host does whose tasks have started: flow goes back there anyhow. */
static bool floats(const struct mincost *m, uint32_t arc)
{
    const struct arc *a = &m->arcs[arc];
    return arc_is_present(m, arc) && a->flow > a->lower && a->flow < a->capacity &&
           m->excess[arc_tail(m, arc)] >= 0 && !is_fresh(m, arc_tail(m, arc)) &&
           !is_fresh(m, arc_head(m, arc));
}

static bool must_shift(const struct mincost *m, uint32_t arc)
{
    return floats(m, arc) && arc_reduced_cost(m, arc) != 0;
}

static uint32_t count_shifts(const struct mincost *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->dirty_arcs.count; i++)
        n += must_shift(m, m->dirty_arcs.items[i]);
    return n;
}

static void enqueue(struct mincost *m, uint32_t v)
{
    if (m->labels[v].stamp == m->stamp)
        return;
    m->labels[v].stamp = m->stamp;
    list_add(m, &m->stack, v);
}

/* Lowers the node's price to what its residual halves allow, and asks those that this concerns. */
static void lower_price(struct mincost *m, uint32_t v)
{
    const struct node *node = &m->nodes[v];
    const struct half *half = m->halves + node->start;
    int64_t price = m->price[v];
    m->work += node->end[1];
    for (uint32_t i = 0; i < node->end[1]; i++)
        if (!is_fresh(m, half[i].head) && half_cost(m, &half[i]) + m->price[half[i].head] < price)
            price = half_cost(m, &half[i]) + m->price[half[i].head];
    if (price == m->price[v])
        return;
    m->price[v] = price;
    if (node_is_leaf(node))
        hub_leaf_fell(m, v);
    m->work += node->end[2] - node->end[0];
    for (uint32_t i = node->end[0]; i < node->end[2]; i++)
        if (!is_fresh(m, half[i].head) && m->price[half[i].head] > price - half_cost(m, &half[i]))
            enqueue(m, half[i].head);
}

/* Lowers prices until each floating arc that changed costs their difference (Bellman, Ford). False:
 * that does not end, since less flow would cost less somewhere. */
static bool shift_prices(struct mincost *m)
{
    uint64_t most = m->work + SHIFT_WORK * (uint64_t)m->arc_count;
    bool lowest = false;
    m->stack.count = 0;
    m->stamp++;
    for (uint32_t i = 0; i < m->dirty_arcs.count; i++)
        if (must_shift(m, m->dirty_arcs.items[i])) {
            enqueue(m, arc_tail(m, m->dirty_arcs.items[i]));
            enqueue(m, arc_head(m, m->dirty_arcs.items[i]));
        }
    for (uint32_t i = 0; i < m->stack.count && m->work <= most && !lowest; i++) {
        uint32_t v = m->stack.items[i];
        m->labels[v].stamp = 0;
        lower_price(m, v);
        lowest = m->price[v] < LOWEST_PRICE;
    }
    m->stack.count = 0;
    return m->work <= most && !lowest;
}

/* WHY prices first where many arcs got other costs, as when the number of each waiter's turn is
 * another: flow that is sent back over all of them has to be sent again, over the whole graph. */
void repair_after_changes(struct mincost *m)
{
    price_dirty_nodes(m, false);
    price_dirty_nodes(m, true);
    bool shifts = count_shifts(m) >= SHIFTS_LEAST;
    for (uint32_t i = 0; i < m->dirty_arcs.count; i++) {
        uint32_t arc = m->dirty_arcs.items[i];
        if (arc_is_present(m, arc) && !(shifts && must_shift(m, arc)))
            fit_flow(m, arc);
    }
    if (shifts && !shift_prices(m))
        repair_from_nothing(m);
    repair_forget_changes(m);
}
