#include <stdlib.h>

#include "lib/mincost/graph.h"

struct sums {
    int64_t *balance; /* supply + inflow − outflow of each node */
    int64_t sent;     /* by the node that is being looked at */
    __int128 primal, dual;
};

static void note_breach(uint32_t arc, bool *claim, struct mincost_certificate *certificate)
{
    *claim = false;
    if (!certificate->arc)
        certificate->arc = arc;
}

/* Most arcs are empty, without a lower bound, and too dear: they are seen first. */
static void check_arc(const struct mincost *m, const struct half *half, int64_t price,
                      struct sums *sums, struct mincost_certificate *certificate)
{
    const struct arc *a = &m->arcs[half_arc(half)];
    int64_t reduced = half_cost(m, half) - price + m->price[half->head];
    if ((a->flow | a->lower) == 0 && reduced >= 0 && a->capacity >= 0)
        return;
    int32_t wanted = reduced > 0 ? a->lower : reduced < 0 ? a->capacity : a->flow;
    if (a->flow < a->lower || a->flow > a->capacity)
        note_breach(half_arc(half), &certificate->bounds, certificate);
    if (a->flow != wanted)
        note_breach(half_arc(half), &certificate->optimal, certificate);
    sums->sent += a->flow;
    sums->balance[half->head] += a->flow;
    sums->primal += (__int128)half_cost(m, half) * a->flow;
    sums->dual += (__int128)reduced * (reduced > 0 ? a->lower : a->capacity);
}

static void check_arcs_from(const struct mincost *m, uint32_t tail, struct sums *sums,
                            struct mincost_certificate *certificate)
{
    const struct node *node = &m->nodes[tail];
    const struct half *half = m->halves + node->start, *stop = half + node_degree(node);
    if (node->in_arcs == node_degree(node))
        return;
    sums->sent = 0;
    for (; half < stop; half++)
        if (!(half->ref & HALF_AT_HEAD))
            check_arc(m, half, m->price[tail], sums, certificate);
    sums->balance[tail] -= sums->sent;
}

/* Tasks' arcs lie wherever their numbers do: asked for from memory some tasks ahead, and the halves
 * that name them some more. */
ALWAYS_INLINE void look_ahead(const struct mincost *m, uint32_t v)
{
    enum { ARCS = 4, HALVES = 12 };
    if (v + HALVES > m->max_node)
        return;
    graph_prefetch_halves(m, v + HALVES);
    const struct node *node = &m->nodes[v + ARCS];
    if (!node_is_leaf(node) || node_degree(node) > 64)
        return;
    const struct half *half = m->halves + node->start, *stop = half + node_degree(node);
    for (; half < stop; half++)
        graph_prefetch_arc(m, half_arc(half));
}

static void check_node(uint32_t v, const struct sums *sums, struct mincost_certificate *certificate)
{
    if (sums->balance[v] == 0)
        return;
    certificate->balance = false;
    if (!certificate->node)
        certificate->node = v;
}

static int64_t cut_cost(__int128 cost)
{
    return cost > INT64_MAX ? INT64_MAX : cost < INT64_MIN ? INT64_MIN : (int64_t)cost;
}

bool mincost_certify(const struct mincost *m, struct mincost_certificate *ret_certificate)
{
    struct mincost_certificate certificate = {.bounds = true, .balance = true, .optimal = true};
    struct sums sums = {.balance = calloc((size_t)m->max_node + 1, sizeof(int64_t))};
    if (!sums.balance)
        return false;
    for (uint32_t v = 1; v <= m->max_node; v++) {
        if (!node_is_present(m, v))
            continue;
        sums.balance[v] += m->supply[v];
        sums.dual += (__int128)m->supply[v] * m->price[v];
        look_ahead(m, v);
        if (node_degree(&m->nodes[v]))
            check_arcs_from(m, v, &sums, &certificate);
    }
    for (uint32_t v = 1; v <= m->max_node; v++)
        check_node(v, &sums, &certificate);
    free(sums.balance);
    certificate.duality = sums.primal == sums.dual && cut_cost(sums.primal) == m->cost_of_optimum;
    *ret_certificate = certificate;
    return !m->pending && certificate.bounds && certificate.balance && certificate.optimal &&
           certificate.duality;
}
