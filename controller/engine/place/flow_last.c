/* The last optimum for people and tests: its arcs as they were when it was found, and what it says
 * of a host and of who waits.
 *
 * WHY kept at each change: when somebody looks, the graph has been patched already by what the
 * optimum started. A copy of all arcs a round would cost more than the round. */
#include "controller/engine/place/flow_things.h"

#include "lib/container_of.h"

void graph_keep(struct flow_graph *graph, uint32_t arc, bool fresh)
{
    struct flow_arc now;
    if (!graph->solved || graph->failed ||
        !graph_room(graph, &graph->was_of, &graph->was_of_allocated, arc + 1,
                    sizeof(*graph->was_of)) ||
        graph->was_of[arc] ||
        !graph_room(graph, &graph->touched, &graph->touched_allocated, graph->n_touched + 1,
                    sizeof(*graph->touched)))
        return;
    graph->was_of[arc] = ARC_NEW;
    graph->touched[graph->n_touched++] = arc;
    if (fresh || !flow_arc(graph, arc, &now) ||
        !graph_room(graph, &graph->was, &graph->was_allocated, graph->n_was + 1,
                    sizeof(*graph->was)))
        return;
    now.tag = NULL;
    graph->was[graph->n_was++] = now;
    graph->was_of[arc] = graph->n_was;
}

void graph_kept_forget(struct flow_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_touched; i++)
        graph->was_of[graph->touched[i]] = 0;
    graph->n_touched = graph->n_was = 0;
    graph->solved = true;
}

/* ---- arcs ---- */

static void fill_group(const struct flow_group *group, struct flow_arc *arc)
{
    arc->tag = group->tag;
    arc->name = group->name;
    arc->part = group->part;
    arc->class = group->class->number;
}

/* The rack's class: the one from which its arc comes. */
static void fill_rack(const struct flow_graph *graph, const struct flow_rack *rack,
                      struct flow_arc *arc)
{
    arc->rack = rack->number;
    for (uint32_t c = 0; c < graph->n_classes; c++)
        if (graph->classes[c] && graph->classes[c]->node == graph->links[rack->arc].tail)
            arc->class = c;
}

static void fill(const struct flow_graph *graph, const struct link *link, struct flow_arc *arc)
{
    const struct flow_wish *wish = link->thing;
    const struct flow_room *room = link->thing;
    switch (link->kind) {
    case FLOW_WISH_HOST:
        fill_group(wish->group, arc);
        arc->host = wish->host->index;
        arc->bounded = wish->group->class->bounded;
        arc->home = wish->home;
        break;
    case FLOW_WISH_RACK:
        fill_group(wish->group, arc);
        arc->rack = wish->rack->number;
        break;
    case FLOW_ANYWHERE:
    case FLOW_WAIT:
        fill_group(link->thing, arc);
        break;
    case FLOW_OF_RACK:
        fill_rack(graph, link->thing, arc);
        break;
    case FLOW_ROOM:
    case FLOW_MOST:
        fill_rack(graph, room->rack, arc);
        arc->host = room->host->index;
        arc->bounded = room->node;
        break;
    case FLOW_SLOTS:
        arc->host = ((const struct flow_host *)link->thing)->index;
        break;
    case FLOW_UNSCHEDULED:
        arc->name = ((const struct flow_waiter *)link->thing)->number;
        break;
    }
}

bool flow_arc(const struct flow_graph *graph, uint32_t arc, struct flow_arc *ret_arc)
{
    if (arc == 0 || arc >= graph->n_links || !graph->links[arc].tail)
        return false;
    const struct link *link = &graph->links[arc];
    *ret_arc = (struct flow_arc){.kind = link->kind,
                                 .tail = link->tail,
                                 .head = link->head,
                                 .lower = link->lower,
                                 .capacity = link->capacity,
                                 .flow = link->flow,
                                 .cost = link->cost,
                                 .ranked = link->ranked};
    fill(graph, link, ret_arc);
    return true;
}

bool flow_last_arc(const struct flow_graph *graph, uint32_t arc, struct flow_arc *ret_arc)
{
    uint32_t was = arc < graph->was_of_allocated ? graph->was_of[arc] : 0;
    if (!graph->solved || was == ARC_NEW)
        return false;
    if (!was)
        return flow_arc(graph, arc, ret_arc);
    *ret_arc = graph->was[was - 1];
    return true;
}

uint32_t flow_last_max(const struct flow_graph *graph)
{
    return graph->n_links ? graph->n_links - 1 : 0;
}

int64_t flow_supply(const struct flow_graph *graph, uint32_t node)
{
    return node < graph->n_supplies ? graph->supplies[node] : 0;
}

const struct mincost *flow_problem(const struct flow_graph *graph)
{
    return graph->problem;
}

/* ---- who waits ---- */

bool flow_next_slot(const struct flow_graph *graph, uint32_t index, int64_t *ret_cost)
{
    const struct flow_host *host = index < graph->n_hosts ? graph->hosts[index] : NULL;
    for (int i = 0; host && i < FLOW_STEPS; i++) {
        const struct link *link = &graph->links[host->steps[i]];
        if (link->capacity > link->flow) {
            *ret_cost = link->cost;
            return true;
        }
    }
    return false;
}

static const struct link *wish_for(const struct flow_graph *graph, const struct sorted *wishes,
                                   uint32_t number)
{
    struct sorted_node *node = sorted_find(wishes, (struct sorted_key){number, 0, 0});
    return node ? &graph->links[container_of(node, struct flow_wish, of_group)->arc] : NULL;
}

/* The cheapest of the group's ways to the host; false: it has none. */
static bool way_cost(const struct flow_graph *graph, const struct flow_group *group,
                     const struct flow_host *host, int64_t *ret_cost)
{
    const struct link *ways[] = {wish_for(graph, &group->hosts, host->index),
                                 wish_for(graph, &group->racks, host->rack),
                                 group->anywhere ? &graph->links[group->anywhere] : NULL};
    bool found = false;
    for (int i = 0; i < 3; i++) {
        if (!ways[i] || (i && !room_of(host, group->class->number)) ||
            (found && ways[i]->cost >= *ret_cost))
            continue;
        *ret_cost = ways[i]->cost;
        found = true;
    }
    return found;
}

int64_t flow_waiting(const struct flow_graph *graph, const struct flow_group *group)
{
    return graph->links[group->wait].flow;
}

int64_t flow_on_host(const struct flow_graph *graph, const struct flow_group *group, uint32_t host)
{
    const struct link *wish = wish_for(graph, &group->hosts, host);
    return wish ? wish->flow : 0;
}

uint64_t flow_group_name(const struct flow_group *group)
{
    return group->name;
}

const struct flow_group *flow_next_in_line(const struct flow_graph *graph, uint32_t index,
                                           uint64_t but, int64_t *ret_gain)
{
    const struct flow_host *host = index < graph->n_hosts ? graph->hosts[index] : NULL;
    const struct flow_group *first = NULL;
    *ret_gain = 0;
    for (uint32_t arc = 1; host && arc < graph->n_links; arc++) {
        const struct link *link = &graph->links[arc];
        const struct flow_group *group = link->thing;
        int64_t cost = 0;
        if (!link->tail || link->kind != FLOW_WAIT || !link->flow || group->name == but ||
            !way_cost(graph, group, host, &cost))
            continue;
        int64_t gain = graph->links[group->waiter->arc].cost + link->cost - cost;
        if (gain > *ret_gain) {
            *ret_gain = gain;
            first = group;
        }
    }
    return first;
}
