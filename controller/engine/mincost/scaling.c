/* Cost scaling (Goldberg, Tarjan 1990) with global updates, price refinement and arc fixing
 * (Goldberg 1997), working in place: costs and prices count in units of 1 ∕ (nodes + 1), so that a
 * flow that is 1-optimal is optimal.
 *
 * While it runs, the halves of a node are not grouped: node.end[0] is how many of them are not
 * fixed, label.via is the place of the node's current half, and m->settled is a ring of active
 * nodes. */
#include <errno.h>

#include "controller/engine/mincost/algorithms.h"
#include "controller/engine/mincost/hubs.h"
#include "controller/engine/mincost/queue.h"
#include "controller/engine/mincost/repair.h"

#define PRICE_MAX (INT64_C(1) << 60)

enum {
    EPSILON_DIVISOR = 12,
    REFINE_WORK = 3, /* halves looked at to refine prices, as a multiple of all, before giving up */
};

struct scaling {
    struct mincost *m;
    int64_t unit; /* what costs are multiplied with */
    int64_t epsilon;
    uint32_t *ring, ring_size, ring_first, ring_count;
    uint64_t relabels;
    bool warm, infeasible, overflow;
};

static int64_t reduced_cost(const struct scaling *s, uint32_t v, const struct half *half)
{
    return half_cost(s->m, half) * s->unit - s->m->price[v] + s->m->price[half->head];
}

static void activate(struct scaling *s, uint32_t v)
{
    struct label *label = &s->m->labels[v];
    if (label->stamp)
        return;
    label->stamp = 1;
    uint32_t last = s->ring_first + s->ring_count++;
    s->ring[last < s->ring_size ? last : last - s->ring_size] = v;
}

static uint32_t next_active(struct scaling *s)
{
    uint32_t v = s->ring[s->ring_first];
    s->ring_first = s->ring_first + 1 == s->ring_size ? 0 : s->ring_first + 1;
    s->ring_count--;
    s->m->labels[v].stamp = 0;
    return v;
}

/* graph_push without groups, cost and touched list, which are set in the end. */
static void push(struct mincost *m, uint32_t v, struct half *half, int64_t amount)
{
    struct arc *arc = &m->arcs[half_arc(half)];
    uint32_t side = half->ref & HALF_AT_HEAD;
    struct half *mate = &m->halves[arc->pos[!side]];
    arc->flow = (int32_t)(arc->flow + (side ? -amount : amount));
    m->excess[v] -= amount;
    m->excess[half->head] += amount;
    half->ref |= HALF_MATE_RESIDUAL;
    mate->ref |= HALF_RESIDUAL;
    if (arc_residual(arc, side) == 0) {
        half->ref &= ~(uint32_t)HALF_RESIDUAL;
        mate->ref &= ~(uint32_t)HALF_MATE_RESIDUAL;
    }
}

static void relabel(struct scaling *s, uint32_t v)
{
    struct mincost *m = s->m;
    const struct node *node = &m->nodes[v];
    const struct half *halves = m->halves + node->start;
    int64_t best = INT64_MAX;
    for (uint32_t i = 0; i < node->end[0]; i++) {
        if (!(halves[i].ref & HALF_RESIDUAL))
            continue;
        int64_t through = half_cost(m, &halves[i]) * s->unit + m->price[halves[i].head];
        if (through < best) {
            best = through;
            m->labels[v].via = i;
        }
    }
    m->work += node->end[0];
    s->relabels++;
    if (best == INT64_MAX)
        s->infeasible = true;
    else if ((m->price[v] = best + s->epsilon) > PRICE_MAX)
        s->overflow = true;
}

static void discharge(struct scaling *s, uint32_t v)
{
    struct mincost *m = s->m;
    const struct node *node = &m->nodes[v];
    while (m->excess[v] > 0 && !s->infeasible && !s->overflow) {
        uint32_t i = m->labels[v].via;
        for (; i < node->end[0]; i++) {
            struct half *half = &m->halves[node->start + i];
            m->work++;
            if (!(half->ref & HALF_RESIDUAL) || reduced_cost(s, v, half) >= 0)
                continue;
            int64_t amount = arc_residual(&m->arcs[half_arc(half)], half->ref & HALF_AT_HEAD);
            push(m, v, half, amount < m->excess[v] ? amount : m->excess[v]);
            if (m->excess[half->head] > 0)
                activate(s, half->head);
            if (m->excess[v] == 0)
                break;
        }
        m->labels[v].via = i;
        if (m->excess[v] > 0)
            relabel(s, v);
    }
}

static bool refine_node(struct scaling *s, uint32_t v)
{
    struct mincost *m = s->m;
    const struct node *node = &m->nodes[v];
    const struct half *half = m->halves + node->start, *stop = half + node_degree(node);
    int64_t price = m->price[v];
    m->work += node_degree(node);
    for (; half < stop; half++) {
        int64_t through = half_cost(m, half) * s->unit + m->price[half->head] + s->epsilon;
        if ((half->ref & HALF_RESIDUAL) && through < price)
            price = through;
    }
    if (price == m->price[v])
        return false;
    m->price[v] = price;
    return true;
}

/* Lowers prices until no residual half has a reduced cost below −epsilon. False when that takes too
 * long: there may be a cycle that forbids it. */
static bool refine_prices(struct scaling *s, uint64_t most_work)
{
    struct mincost *m = s->m;
    uint64_t stop = m->work + most_work;
    for (uint32_t v = 1; v <= m->max_node; v++)
        if (node_is_present(m, v))
            activate(s, v);
    while (s->ring_count && m->work < stop) {
        uint32_t v = next_active(s);
        if (!refine_node(s, v))
            continue;
        const struct node *node = &m->nodes[v];
        const struct half *half = m->halves + node->start, *end = half + node_degree(node);
        m->work += node_degree(node);
        for (; half < end; half++)
            if ((half->ref & HALF_MATE_RESIDUAL) && -reduced_cost(s, v, half) < -s->epsilon)
                activate(s, half->head);
    }
    bool done = s->ring_count == 0;
    while (s->ring_count)
        next_active(s);
    return done;
}

/* Halves with so large a reduced cost that no phase to come can change their flow go behind the
 * others. */
static void fix_and_saturate(struct scaling *s, uint32_t v, int64_t fixed_above)
{
    struct mincost *m = s->m;
    struct node *node = &m->nodes[v];
    struct half *halves = m->halves + node->start;
    m->work += node->end[0];
    for (uint32_t i = 0; i < node->end[0];) {
        int64_t reduced = reduced_cost(s, v, &halves[i]);
        if (reduced > fixed_above || reduced < -fixed_above) {
            struct half fixed = halves[i], last = halves[--node->end[0]];
            halves[i] = last;
            halves[node->end[0]] = fixed;
            m->arcs[half_arc(&last)].pos[last.ref & HALF_AT_HEAD] = node->start + i;
            m->arcs[half_arc(&fixed)].pos[fixed.ref & HALF_AT_HEAD] = node->start + node->end[0];
            continue;
        }
        if ((halves[i].ref & HALF_RESIDUAL) && reduced < 0)
            push(m, v, &halves[i],
                 arc_residual(&m->arcs[half_arc(&halves[i])], halves[i].ref & HALF_AT_HEAD));
        i++;
    }
    m->labels[v].via = 0;
}

/* Raises prices at once to where relabels would bring them: by epsilon for each step to the nearest
 * deficit. */
static void rank_node(struct scaling *s, uint32_t v, int64_t rank)
{
    struct mincost *m = s->m;
    const struct node *node = &m->nodes[v];
    const struct half *half = m->halves + node->start, *stop = half + node->end[0];
    m->work += node->end[0];
    for (; half < stop; half++) {
        if (!(half->ref & HALF_MATE_RESIDUAL))
            continue;
        int64_t back = -reduced_cost(s, v, half);
        int64_t step = back < 0 ? 0 : back / s->epsilon + 1;
        struct label *label = &m->labels[half->head];
        if (rank + step < label->distance) {
            label->distance = rank + step;
            queue_put(m, rank + step, half->head);
        }
    }
}

static uint64_t start_ranks(struct scaling *s)
{
    struct mincost *m = s->m;
    uint64_t excesses = 0;
    m->queue.count = 0;
    for (uint32_t v = 1; v <= m->max_node; v++) {
        if (!node_is_present(m, v))
            continue;
        m->labels[v].distance = m->excess[v] < 0 ? 0 : INT64_MAX;
        excesses += m->excess[v] > 0;
        if (m->excess[v] < 0)
            queue_put(m, 0, v);
    }
    return excesses;
}

static void global_update(struct scaling *s)
{
    struct mincost *m = s->m;
    uint64_t excesses = start_ranks(s);
    int64_t rank = 0;
    while (m->queue.count && excesses) {
        struct queue_entry entry = queue_take(&m->queue);
        if (entry.key != m->labels[entry.node].distance || entry.key < rank)
            continue;
        rank = entry.key;
        excesses -= m->excess[entry.node] > 0;
        rank_node(s, entry.node, rank);
    }
    if (excesses) {
        s->infeasible = true;
        return;
    }
    for (uint32_t v = 1; v <= m->max_node; v++) {
        if (!node_is_present(m, v))
            continue;
        int64_t by = m->labels[v].distance < rank ? m->labels[v].distance : rank;
        m->price[v] += by * s->epsilon;
        s->overflow |= m->price[v] > PRICE_MAX;
        m->labels[v].via = 0;
    }
}

static void run_phase(struct scaling *s, int64_t fixed_above)
{
    struct mincost *m = s->m;
    for (uint32_t v = 1; v <= m->max_node; v++)
        if (node_is_present(m, v))
            fix_and_saturate(s, v, fixed_above);
    global_update(s);
    for (uint32_t v = 1; v <= m->max_node && !s->infeasible; v++)
        if (node_is_present(m, v) && m->excess[v] > 0)
            activate(s, v);
    s->relabels = 0;
    while (s->ring_count && !s->infeasible && !s->overflow) {
        discharge(s, next_active(s));
        if (s->relabels > m->node_count / 2) {
            s->relabels = 0;
            global_update(s);
        }
    }
    while (s->ring_count)
        next_active(s);
}

static int64_t worst_violation(const struct scaling *s)
{
    const struct mincost *m = s->m;
    int64_t worst = 0;
    for (uint32_t v = 1; v <= m->max_node; v++) {
        if (!node_is_present(m, v))
            continue;
        const struct node *node = &m->nodes[v];
        for (uint32_t i = 0; i < node_degree(node); i++) {
            const struct half *half = &m->halves[node->start + i];
            if ((half->ref & HALF_RESIDUAL) && -reduced_cost(s, v, half) > worst)
                worst = -reduced_cost(s, v, half);
        }
    }
    return worst;
}

static void run_phases(struct scaling *s)
{
    struct mincost *m = s->m;
    int64_t fixed_above = INT64_MAX;
    while (s->epsilon > 1 && !s->infeasible && !s->overflow) {
        int64_t last = s->epsilon;
        s->epsilon = last > EPSILON_DIVISOR ? last / EPSILON_DIVISOR : 1;
        if (s->warm && fixed_above < INT64_MAX &&
            refine_prices(s, REFINE_WORK * (uint64_t)m->arc_count))
            continue;
        run_phase(s, fixed_above);
        fixed_above = 2 * (int64_t)m->node_count * s->epsilon;
    }
}

static void keep_flows(struct mincost *m)
{
    for (uint32_t a = 1; a <= m->max_arc; a++)
        if (m->arc_bits[a] & ARC_PRESENT)
            graph_touch(m, a);
}

static void start(struct scaling *s)
{
    struct mincost *m = s->m;
    keep_flows(m);
    hubs_forget(m);
    m->ungrouped = true;
    for (uint32_t v = 1; v <= m->max_node; v++) {
        m->nodes[v].end[0] = node_degree(&m->nodes[v]);
        m->price[v] = m->price[v] == NO_PRICE ? 0 : m->price[v] * s->unit;
        m->labels[v] = (struct label){0};
    }
}

static void count_cost(struct mincost *m)
{
    m->cost = 0;
    for (uint32_t a = 1; a <= m->max_arc; a++)
        if ((m->arc_bits[a] & ARC_PRESENT) && m->arcs[a].flow)
            m->cost += (__int128)arc_cost(m, a) * m->arcs[a].flow;
}

/* Back to whole prices: rounded ones are wrong by less than 1, which refinement repairs since the
 * flow is optimal. */
static void finish(struct scaling *s)
{
    struct mincost *m = s->m;
    for (uint32_t v = 1; v <= m->max_node; v++) {
        int64_t price = m->price[v];
        m->price[v] = price / s->unit - (price % s->unit < 0);
    }
    s->unit = 1;
    s->epsilon = 0;
    if (!s->infeasible && !s->overflow)
        refine_prices(s, UINT64_MAX - m->work);
    m->stamp = 1;
    m->settled.count = 0;
    graph_regroup(m);
    count_cost(m);
}

static int reserve_ring(struct scaling *s)
{
    struct mincost *m = s->m;
    while (m->settled.room < m->node_count + 1)
        if (list_grow(m, &m->settled))
            return m->failed;
    s->ring = m->settled.items;
    s->ring_size = m->settled.room;
    return 0;
}

static int64_t largest_cost(const struct mincost *m)
{
    unsigned bits = sizeof m->costs_at / sizeof *m->costs_at;
    while (bits > 1 && !m->costs_at[bits - 1])
        bits--;
    return INT64_C(1) << (bits - 1);
}

/* Whether prices in small units can be expected to fit; run-time checks make sure. */
static bool fits(const struct mincost *m)
{
    return ((__int128)largest_cost(m) * (m->node_count + 1)) < (__int128)1 << 50;
}

static int scale(struct mincost *m, bool warm)
{
    struct scaling s = {.m = m, .unit = (int64_t)m->node_count + 1, .warm = warm};
    if (!fits(m))
        return algorithm_paths(m);
    if (reserve_ring(&s))
        return m->failed;
    repair_after_changes(m);
    if (!warm)
        repair_from_nothing(m);
    start(&s);
    int64_t worst = worst_violation(&s), least = warm ? s.unit : largest_cost(m) * s.unit;
    s.epsilon = worst > least ? worst : least;
    run_phases(&s);
    finish(&s);
    if (m->failed)
        return m->failed;
    return s.infeasible || s.overflow ? algorithm_paths(m) : 0;
}

int algorithm_scaling(struct mincost *m)
{
    return scale(m, false);
}

int algorithm_incremental_scaling(struct mincost *m)
{
    return scale(m, true);
}
