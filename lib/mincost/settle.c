/* Chooses among optima of equal cost by another cost. They differ in arcs of reduced cost 0 alone,
 * whatever the prices, so these arcs are a problem of their own: its nodes send what the optimum
 * that was found sends over them. */
#include <errno.h>
#include <stdlib.h>

#include "lib/mincost/graph.h"

struct ties {
    struct mincost *m, *small;
    uint32_t *arcs; /* by number in `small` */
    uint32_t n, n_nodes;
    int error;
};

static void keep(struct ties *t, int error)
{
    t->error = t->error ? t->error : error;
}

static uint32_t node_of(struct ties *t, uint32_t node)
{
    struct label *label = &t->m->labels[node];
    if (label->stamp != t->m->stamp) {
        *label = (struct label){.via = ++t->n_nodes, .stamp = t->m->stamp};
        keep(t, mincost_set_node(t->small, label->via, 0));
    }
    return label->via;
}

static void send_more(struct ties *t, uint32_t node, int64_t amount)
{
    if (!t->error)
        keep(t, mincost_set_node(t->small, node, t->small->supply[node] + amount));
}

static void add(struct ties *t, uint32_t arc, int64_t second)
{
    const struct arc *a = &t->m->arcs[arc];
    uint32_t tail = node_of(t, arc_tail(t->m, arc)), head = node_of(t, arc_head(t->m, arc));
    t->arcs[++t->n] = arc;
    keep(t, mincost_add_arc(t->small, t->n, tail, head, a->lower, a->capacity, second));
    send_more(t, tail, a->flow);
    send_more(t, head, -a->flow);
}

/* The optimum of the small problem, and whether there is another one. */
static int solve(struct ties *t, bool *ret_settled)
{
    uint32_t *all = malloc((t->n + 1) * sizeof(*all));
    for (uint32_t i = 0; all && i < t->n; i++)
        all[i] = i + 1;
    keep(t, all ? mincost_solve(t->small) : -ENOMEM);
    keep(t, t->error ? t->error : mincost_is_unique(t->small, all, t->n, ret_settled));
    free(all);
    return t->error;
}

static void take_over(struct ties *t)
{
    for (uint32_t i = 1; i <= t->n; i++) {
        int64_t more = mincost_flow(t->small, i) - t->m->arcs[t->arcs[i]].flow;
        if (more)
            graph_push(t->m, t->arcs[i], more < 0, more < 0 ? -more : more);
    }
    graph_keep_changed(t->m);
}

int mincost_settle(struct mincost *m, const uint32_t *arcs, const int64_t *second, size_t count,
                   bool *ret_settled)
{
    struct ties t = {.m = m, .arcs = malloc((count + 1) * sizeof(*t.arcs))};
    bool settled = false;
    keep(&t, t.arcs ? mincost_create(0, 0, &t.small) : -ENOMEM);
    m->stamp++;
    for (size_t i = 0; i < count && !t.error; i++)
        if (arc_is_tight(m, arcs[i]) && m->arcs[arcs[i]].capacity > m->arcs[arcs[i]].lower)
            add(&t, arcs[i], second[i]);
    if (!t.error && solve(&t, &settled) == 0 && settled)
        take_over(&t);
    mincost_destroy(t.small);
    free(t.arcs);
    if (t.error || m->failed)
        return t.error ? t.error : m->failed;
    *ret_settled = settled;
    return 0;
}
