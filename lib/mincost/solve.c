/* The algorithms by name, and which of them answers: each starts from what the last solution
 * left. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/mincost/algorithms.h"
#include "lib/mincost/repair.h"

static const struct mincost_algorithm automatic = {
    "auto", "chooses by the size of the change and the load", algorithm_auto};
static const struct mincost_algorithm incremental = {
    "incremental", "shortest paths from the last optimum", algorithm_incremental};
static const struct mincost_algorithm paths = {"paths", "shortest paths from nothing",
                                               algorithm_paths};
static const struct mincost_algorithm scaling = {"scaling", "cost scaling from nothing",
                                                 algorithm_scaling};
static const struct mincost_algorithm incremental_scaling = {
    "incremental-scaling", "cost scaling from the last optimum", algorithm_incremental_scaling};

static const struct mincost_algorithm relax = {"relax", "relaxation from nothing", algorithm_relax};

const struct mincost_algorithm *const mincost_algorithms[] = {
    &automatic, &incremental, &paths, &scaling, &incremental_scaling, &relax, NULL};

int mincost_set_algorithm(struct mincost *m, const char *name)
{
    for (size_t i = 0; mincost_algorithms[i]; i++)
        if (strcmp(mincost_algorithms[i]->name, name) == 0) {
            m->algorithm = mincost_algorithms[i];
            return 0;
        }
    return -ENOENT;
}

static int64_t cut_cost(__int128 cost)
{
    return cost > INT64_MAX ? INT64_MAX : cost < INT64_MIN ? INT64_MIN : (int64_t)cost;
}

/* Prices stay below largest cost × nodes; the sum of two of them and a cost must fit in 64 bits. */
static bool costs_fit(const struct mincost *m)
{
    unsigned bits = sizeof m->costs_at / sizeof *m->costs_at;
    while (bits > 1 && !m->costs_at[bits - 1])
        bits--;
    return ((__int128)m->node_count << (bits - 1)) < (__int128)1 << 60;
}

static int refuse(struct mincost *m)
{
    m->reason[0] = '\0';
    if (!costs_fit(m)) {
        snprintf(m->reason, sizeof m->reason,
                 "the largest cost times %" PRIu32 " nodes does not stay below 2^60",
                 m->node_count);
        return -ERANGE;
    }
    if (m->supply_sum != 0) {
        witness_supplies(m);
        return -EDOM;
    }
    if (m->crossed_arcs) {
        witness_crossed(m);
        return -EDOM;
    }
    return 0;
}

void graph_keep_changed(struct mincost *m)
{
    uint32_t changed = 0;
    for (uint32_t i = 0; i < m->touched.count; i++) {
        uint32_t arc = m->touched.items[i];
        m->arc_bits[arc] &= (uint8_t)~ARC_TOUCHED;
        if ((m->arc_bits[arc] & ARC_PRESENT) && m->arcs[arc].flow != m->arcs[arc].kept)
            m->touched.items[changed++] = arc;
    }
    m->touched.count = changed;
}

static void note_stats(struct mincost *m)
{
    m->stats.changes = m->changes;
    m->stats.searches = m->searches;
    m->stats.arcs_looked_at = m->work;
    m->stats.nodes = m->node_count;
    m->stats.arcs = m->arc_count;
}

int mincost_solve(struct mincost *m)
{
    if (m->failed)
        return m->failed;
    if (!m->pending)
        m->touched.count = 0;
    m->pending = true;
    m->work = m->searches = 0;
    m->stats = (struct mincost_stats){.algorithm = m->algorithm->name};
    graph_narrow_costs(m);
    int error = refuse(m);
    if (!error) {
        repair_elect_sink(m);
        error = m->algorithm->solve(m);
        if (m->bulky)
            memory_trim(m);
    }
    if (m->failed)
        error = m->failed;
    note_stats(m);
    m->changes = 0;
    if (error)
        return error;
    graph_keep_changed(m);
    m->pending = false;
    m->solved = true;
    m->cost_of_optimum = cut_cost(m->cost);
    return 0;
}

const char *mincost_reason(const struct mincost *m)
{
    return m->reason;
}

int64_t mincost_cost(const struct mincost *m)
{
    return m->cost_of_optimum;
}

int64_t mincost_flow(const struct mincost *m, uint32_t arc)
{
    if (!arc_is_present(m, arc))
        return 0;
    bool old = m->pending && (m->arc_bits[arc] & ARC_TOUCHED);
    return old ? m->arcs[arc].kept : m->arcs[arc].flow;
}

const uint32_t *mincost_changed(const struct mincost *m, size_t *ret_count)
{
    *ret_count = m->pending ? 0 : m->touched.count;
    return m->touched.items;
}

int mincost_ends(const struct mincost *m, uint32_t arc, uint32_t *ret_tail, uint32_t *ret_head)
{
    if (!arc_is_present(m, arc))
        return -ENOENT;
    *ret_tail = arc_tail(m, arc);
    *ret_head = arc_head(m, arc);
    return 0;
}

uint32_t mincost_max_arc(const struct mincost *m)
{
    return m->max_arc;
}

void mincost_get_stats(const struct mincost *m, struct mincost_stats *ret_stats)
{
    *ret_stats = m->stats;
}

size_t mincost_memory_bytes(const struct mincost *m)
{
    return m->bytes;
}
