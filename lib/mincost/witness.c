#include <inttypes.h>
#include <stdio.h>

#include "lib/mincost/algorithms.h"

/* The nodes that a failed search reached, and what shuts them in. */
struct wall {
    uint32_t nodes;
    uint32_t lower_arc, full_arc; /* a lower bound and a capacity on the border, or NO_ARC */
};

static void note_border(const struct mincost *m, const struct half *half, bool forward,
                        struct wall *wall)
{
    uint32_t arc = half_arc(half);
    bool leaves = !(half->ref & HALF_AT_HEAD);
    if (leaves == forward) {
        if (!wall->full_arc || arc < wall->full_arc)
            wall->full_arc = arc;
    } else if (m->arcs[arc].lower > 0 && (!wall->lower_arc || arc < wall->lower_arc)) {
        wall->lower_arc = arc;
    }
}

static struct wall find_wall(const struct mincost *m, bool forward)
{
    struct wall wall = {0};
    for (uint32_t v = 1; v <= m->max_node; v++) {
        if (!node_is_present(m, v) || m->labels[v].stamp != m->stamp)
            continue;
        wall.nodes++;
        const struct node *node = &m->nodes[v];
        for (uint32_t i = 0; i < node_degree(node); i++) {
            const struct half *half = &m->halves[node->start + i];
            if (m->labels[half->head].stamp != m->stamp)
                note_border(m, half, forward, &wall);
        }
    }
    return wall;
}

static void say_lower(struct mincost *m, uint32_t arc, int64_t amount, const char *what)
{
    snprintf(m->reason, sizeof m->reason,
             "the lower bound %" PRId32 " of arc %" PRIu32 " (%" PRIu32 " -> %" PRIu32
             ") cannot be kept: %" PRId64 " units %s",
             m->arcs[arc].lower, arc, arc_tail(m, arc), arc_head(m, arc), amount, what);
}

static void say_capacity(struct mincost *m, uint32_t node, int64_t amount, const struct wall *wall,
                         bool forward)
{
    const char *verb = forward ? "send away" : "be given";
    uint32_t arc = wall->full_arc;
    if (!arc)
        snprintf(m->reason, sizeof m->reason,
                 "node %" PRIu32 " cannot %s %" PRId64 " units: no arc %s the %" PRIu32
                 " nodes around it",
                 node, verb, amount, forward ? "leaves" : "enters", wall->nodes);
    else
        snprintf(
            m->reason, sizeof m->reason,
            "node %" PRIu32 " cannot %s %" PRId64 " units: every way is full, such as arc %" PRIu32
            " (%" PRIu32 " -> %" PRIu32 ") at its capacity %" PRId32,
            node, verb, amount, arc, arc_tail(m, arc), arc_head(m, arc), m->arcs[arc].capacity);
}

static void say_wall(struct mincost *m, uint32_t node, int64_t amount, bool forward)
{
    struct wall wall = find_wall(m, forward);
    if (wall.lower_arc)
        say_lower(m, wall.lower_arc, amount, forward ? "have no way out" : "are missing");
    else
        say_capacity(m, node, amount, &wall, forward);
}

void witness_search(struct mincost *m, uint32_t node)
{
    int64_t excess = m->excess[node];
    say_wall(m, node, excess > 0 ? excess : -excess, excess > 0);
}

void witness_excess(struct mincost *m, uint32_t node, int64_t amount)
{
    say_wall(m, node, amount, true);
}

void witness_supplies(struct mincost *m)
{
    snprintf(m->reason, sizeof m->reason,
             "the supplies of all nodes add up to %" PRId64 " instead of 0", m->supply_sum);
}

void witness_crossed(struct mincost *m)
{
    uint32_t arc = 1;
    while (!(m->arc_bits[arc] & ARC_CROSSED))
        arc++;
    snprintf(m->reason, sizeof m->reason,
             "the lower bound of arc %" PRIu32 " (%" PRIu32 " -> %" PRIu32
             ") is above its capacity %" PRId32,
             arc, arc_tail(m, arc), arc_head(m, arc), m->arcs[arc].capacity);
}
