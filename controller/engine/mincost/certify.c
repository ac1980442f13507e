#include <stdlib.h>

#include "controller/engine/mincost/graph.h"

struct sums {
    int64_t *balance; /* supply + inflow − outflow of each node */
    __int128 primal, dual;
};

static void check_arc(const struct mincost *m, uint32_t tail, const struct half *half,
                      struct sums *sums, struct mincost_certificate *certificate)
{
    uint32_t arc = half_arc(half);
    const struct arc *a = &m->arcs[arc];
    int64_t reduced = half_cost(m, half) - m->price[tail] + m->price[half->head];
    bool bounds = a->flow >= a->lower && a->flow <= a->capacity;
    bool optimal =
        (reduced >= 0 || a->flow == a->capacity) && (reduced <= 0 || a->flow == a->lower);
    certificate->bounds &= bounds;
    certificate->optimal &= optimal;
    if ((!bounds || !optimal) && !certificate->arc)
        certificate->arc = arc;
    if (a->flow) {
        sums->balance[tail] -= a->flow;
        sums->balance[half->head] += a->flow;
        sums->primal += (__int128)half_cost(m, half) * a->flow;
    }
    int32_t bound = reduced > 0 ? a->lower : a->capacity;
    if (reduced && bound)
        sums->dual += (__int128)reduced * bound;
}

static void check_arcs_from(const struct mincost *m, uint32_t tail, struct sums *sums,
                            struct mincost_certificate *certificate)
{
    const struct node *node = &m->nodes[tail];
    const struct half *half = m->halves + node->start, *stop = half + node_degree(node);
    for (; half < stop; half++)
        if (!(half->ref & HALF_AT_HEAD))
            check_arc(m, tail, half, sums, certificate);
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
