#include <errno.h>

#include "lib/mincost/algorithms.h"
#include "lib/mincost/hubs.h"
#include "lib/mincost/repair.h"
#include "lib/mincost/search.h"

void paths_forget_balanced(struct mincost *m)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->unbalanced.count; i++) {
        uint32_t v = m->unbalanced.items[i];
        if (m->excess[v] != 0)
            m->unbalanced.items[kept++] = v;
        else
            m->nodes[v].bits &= (uint8_t)~NODE_UNBALANCED;
    }
    m->unbalanced.count = kept;
}

static int balance_one(struct mincost *m, uint32_t v, bool deficits)
{
    if (v == m->sink || m->excess[v] == 0 || (m->excess[v] < 0) != deficits)
        return 0;
    int error = deficits ? search_from_deficit(m, v) : search_from_excess(m, v);
    if (error == -EDOM)
        witness_search(m, v);
    return error;
}

/* Asks from memory what the next searches start from. */
ALWAYS_INLINE void look_ahead(const struct mincost *m, uint32_t i)
{
    enum { TABLES = 8, HALVES = 3 };
    const uint32_t *items = m->unbalanced.items;
    if (i + TABLES < m->unbalanced.count) {
        graph_prefetch_node(m, items[i + TABLES]);
        __builtin_prefetch(&m->excess[items[i + TABLES]]);
    }
    if (i + HALVES < m->unbalanced.count && m->excess[items[i + HALVES]] != 0)
        graph_prefetch_halves(m, items[i + HALVES]);
}

static int balance_nodes(struct mincost *m, bool deficits)
{
    int error = 0;
    for (uint32_t i = 0; i < m->unbalanced.count && !error; i++) {
        look_ahead(m, i);
        if (m->unbalanced.items[i] != m->depot)
            error = balance_one(m, m->unbalanced.items[i], deficits);
    }
    return error;
}

/* Where the cluster is full, a freed slot and a new task far from it meet over the one hub that
 * everything can come through, past thousands of nodes that are all equally near. So a search that
 * comes to that hub leaves its unit there. Most of what is left there cancels out; searches from
 * the hub see to the rest. */
int paths_balance(struct mincost *m)
{
    int error = hubs_prepare(m);
    uint32_t depot = m->depot = hubs_busiest(m);
    if (!error)
        error = balance_nodes(m, true);
    if (!error)
        error = balance_nodes(m, false);
    m->depot = NO_NODE;
    if (depot != NO_NODE)
        graph_mark_unbalanced(m, depot);
    if (depot != NO_NODE && !error)
        error = balance_one(m, depot, m->excess[depot] < 0);
    paths_forget_balanced(m);
    return error;
}

int algorithm_incremental(struct mincost *m)
{
    repair_after_changes(m);
    return paths_balance(m);
}

int algorithm_paths(struct mincost *m)
{
    repair_from_nothing(m);
    return paths_balance(m);
}
