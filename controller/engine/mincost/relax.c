/* Relaxation (Bertsekas, Tseng 1988): from a node with excess a set grows over arcs of reduced cost
 * 0. As soon as its excess is more than such arcs can carry out of it, the prices of the whole set
 * rise, which makes the dual better by that difference; when it meets a deficit first, flow is sent
 * there. Very fast where few tasks compete, slow where many do.
 *
 * The set is m->settled, its members have the stamp of the labels. */
#include <errno.h>

#include "controller/engine/mincost/algorithms.h"
#include "controller/engine/mincost/hubs.h"
#include "controller/engine/mincost/repair.h"

enum { RELAX_WORK = 256 };

struct growth {
    struct mincost *m;
    uint32_t start;
    int64_t excess, outlet; /* of the set; over arcs of reduced cost 0 out of it */
    uint32_t deficit;       /* a node outside that can be reached and lacks flow, or NO_NODE */
};

static bool is_member(const struct mincost *m, uint32_t v)
{
    return m->labels[v].stamp == m->stamp;
}

static int64_t reduced_cost(const struct mincost *m, uint32_t v, const struct half *half)
{
    return half_cost(m, half) - m->price[v] + m->price[half->head];
}

static int64_t half_residual(const struct mincost *m, const struct half *half, uint32_t side)
{
    return arc_residual(&m->arcs[half_arc(half)], side);
}

/* Counts what the new member's tight arcs change: those to members no more lead out, the others do.
 */
static void join(struct growth *g, uint32_t v, uint32_t via)
{
    struct mincost *m = g->m;
    const struct node *node = &m->nodes[v];
    const struct half *half = m->halves + node->start, *stop = half + node->end[2];
    m->labels[v] = (struct label){.via = via, .stamp = m->stamp};
    list_add(m, &m->settled, v);
    g->excess += m->excess[v];
    m->work += node->end[2];
    for (; half < stop; half++) {
        uint32_t side = half->ref & HALF_AT_HEAD;
        if (reduced_cost(m, v, half) != 0)
            continue;
        if (is_member(m, half->head))
            g->outlet -= half_residual(m, half, !side);
        else
            g->outlet += half_residual(m, half, side);
    }
}

/* Takes in what `v` reaches over tight arcs, until a deficit is met or the excess is too large for
 * the outlet. */
static void grow_from(struct growth *g, uint32_t v)
{
    struct mincost *m = g->m;
    const struct node *node = &m->nodes[v];
    m->work += node->end[1];
    for (uint32_t i = 0; i < node->end[1] && g->excess <= g->outlet && !g->deficit; i++) {
        const struct half *half = &m->halves[node->start + i];
        if (is_member(m, half->head) || reduced_cost(m, v, half) != 0)
            continue;
        uint32_t via = half_arc(half) << 1 | (half->ref & HALF_AT_HEAD);
        if (m->excess[half->head] < 0) {
            m->labels[half->head].via = via;
            g->deficit = half->head;
        } else {
            join(g, half->head, via);
        }
    }
}

static uint32_t previous_node(const struct mincost *m, uint32_t via)
{
    return via & 1 ? arc_head(m, via >> 1) : arc_tail(m, via >> 1);
}

static void send(struct growth *g)
{
    struct mincost *m = g->m;
    int64_t amount = m->excess[g->start];
    if (-m->excess[g->deficit] < amount)
        amount = -m->excess[g->deficit];
    for (uint32_t v = g->deficit; v != g->start;) {
        uint32_t via = m->labels[v].via;
        int64_t residual = arc_residual(&m->arcs[via >> 1], via & 1);
        if (residual < amount)
            amount = residual;
        v = previous_node(m, via);
    }
    for (uint32_t v = g->deficit; v != g->start;) {
        uint32_t via = m->labels[v].via;
        v = previous_node(m, via);
        graph_push(m, via >> 1, via & 1, amount);
    }
}

/* By how much the prices of the set can rise once its tight arcs are full; collects those. */
static int64_t find_rise(struct mincost *m)
{
    int64_t rise = INT64_MAX;
    m->stack.count = 0;
    for (uint32_t k = 0; k < m->settled.count; k++) {
        uint32_t v = m->settled.items[k];
        const struct node *node = &m->nodes[v];
        const struct half *half = m->halves + node->start, *stop = half + node->end[1];
        m->work += node->end[1];
        for (; half < stop; half++) {
            int64_t reduced = reduced_cost(m, v, half);
            if (is_member(m, half->head))
                continue;
            if (reduced == 0)
                list_add(m, &m->stack, half_arc(half) << 1 | (half->ref & HALF_AT_HEAD));
            else if (reduced < rise)
                rise = reduced;
        }
    }
    return rise;
}

/* −EDOM when nothing at all leads out of the set. */
static int ascend(struct growth *g)
{
    struct mincost *m = g->m;
    int64_t rise = find_rise(m);
    if (rise == INT64_MAX && m->stack.count == 0)
        return -EDOM;
    for (uint32_t i = 0; i < m->stack.count; i++) {
        uint32_t via = m->stack.items[i], arc = via >> 1;
        graph_push(m, arc, via & 1, arc_residual(&m->arcs[arc], via & 1));
        graph_mark_unbalanced(m, arc_tail(m, arc));
        graph_mark_unbalanced(m, arc_head(m, arc));
    }
    if (rise < INT64_MAX)
        for (uint32_t k = 0; k < m->settled.count; k++)
            m->price[m->settled.items[k]] += rise;
    return 0;
}

static int relax_node(struct mincost *m, uint32_t start)
{
    struct growth g = {.m = m, .start = start};
    m->stamp++;
    m->searches++;
    m->settled.count = 0;
    join(&g, start, 0);
    for (uint32_t k = 0; k < m->settled.count && g.excess <= g.outlet && !g.deficit; k++)
        grow_from(&g, m->settled.items[k]);
    if (m->failed)
        return m->failed;
    if (!g.deficit)
        return ascend(&g);
    send(&g);
    return 0;
}

/* Works through the list once; nodes that get excess meanwhile are on it. */
static int relax_all(struct mincost *m, bool *ret_again)
{
    *ret_again = false;
    for (uint32_t i = 0; i < m->unbalanced.count; i++) {
        uint32_t v = m->unbalanced.items[i];
        *ret_again |= m->excess[v] > 0;
        while (m->excess[v] > 0) {
            if (m->work > RELAX_WORK * (uint64_t)m->arc_count)
                return -EAGAIN;
            int error = relax_node(m, v);
            if (error == -EDOM)
                witness_search(m, v);
            if (error)
                return error;
        }
    }
    return 0;
}

int algorithm_relax(struct mincost *m)
{
    bool again = true;
    int error = 0;
    repair_from_nothing(m);
    while (again && !error) {
        error = relax_all(m, &again);
        paths_forget_balanced(m);
    }
    hubs_forget(m); /* prices rose without a word to them */
    if (error != -EAGAIN)
        return error;
    m->stats.fallbacks++;
    return algorithm_scaling(m);
}
