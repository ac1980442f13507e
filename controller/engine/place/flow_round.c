/* One round on the graph of placement: its optimum, what that runs, and which one of several it
 * is. */
#include "controller/engine/place/flow_things.h"

#include "lib/container_of.h"

#include <errno.h>
#include <stdlib.h>

static void carry_to_host(struct flow_graph *graph, struct flow_host *host, int64_t more)
{
    host->used += more;
    if (!host->used)
        sorted_remove(&graph->used, &host->of_used);
    else if (!host->of_used.in)
        sorted_insert(&graph->used, &host->of_used, (struct sorted_key){host->index, 0, 0}, 0);
}

static void carry_of_group(struct flow_graph *graph, struct flow_group *group, int64_t more)
{
    group->placed += more;
    if (!group->placed)
        sorted_remove(&graph->placing, &group->of_placing);
    else if (!group->of_placing.in)
        sorted_insert(&graph->placing, &group->of_placing,
                      (struct sorted_key){group->name, group->part, 0}, 0);
}

void graph_carry(struct flow_graph *graph, struct link *link, int64_t flow)
{
    int64_t more = flow - link->flow;
    link->flow = flow;
    if (!more)
        return;
    if (link->kind == FLOW_WISH_HOST || link->kind == FLOW_WISH_RACK)
        carry_of_group(graph, ((struct flow_wish *)link->thing)->group, more);
    if (link->kind == FLOW_ANYWHERE)
        carry_of_group(graph, link->thing, more);
    if (link->kind == FLOW_WISH_HOST)
        carry_to_host(graph, ((struct flow_wish *)link->thing)->host, more);
    if (link->kind == FLOW_ROOM)
        carry_to_host(graph, ((struct flow_room *)link->thing)->host, more);
}

/* ---- what runs where ---- */

static void place_add(struct flow_graph *graph, struct flow_group *group, uint32_t host,
                      uint32_t tasks, enum flow_way way)
{
    if (graph_room(graph, &graph->places, &graph->places_allocated, graph->n_places + 1,
                   sizeof(*graph->places)))
        graph->places[graph->n_places++] = (struct flow_place){group->tag, group, host, tasks, way};
}

/* Places of wishes; room that the units over racks have taken stands in order of hosts. */
static void look_at_host(struct flow_graph *graph, struct flow_host *host)
{
    struct flow_wish *wish;
    TAILQ_FOREACH (wish, &host->wishes, of_host)
        if (graph->links[wish->arc].flow)
            place_add(graph, wish->group, host->index, (uint32_t)graph->links[wish->arc].flow,
                      FLOW_BY_HOST);
    for (uint32_t c = 0; c < host->n_rooms; c++) {
        struct flow_room *room = host->rooms[c];
        if (!room || !graph->links[room->arc].flow)
            continue;
        room->left = (uint32_t)graph->links[room->arc].flow;
        STAILQ_INSERT_TAIL(&room->rack->rooms, room, of_rack);
        STAILQ_INSERT_TAIL(&graph->classes[c]->rooms, room, of_class);
    }
}

/* Gives the group room in the order that it stands in. */
static void take(struct flow_graph *graph, struct flow_group *group, struct flow_room *first,
                 bool by_rack, int64_t tasks)
{
    for (struct flow_room *room = first; room && tasks > 0;
         room = by_rack ? STAILQ_NEXT(room, of_rack) : STAILQ_NEXT(room, of_class)) {
        uint32_t n = room->left < tasks ? room->left : (uint32_t)tasks;
        if (n)
            place_add(graph, group, room->host->index, n, by_rack ? FLOW_BY_RACK : FLOW_BY_CLUSTER);
        room->left -= n;
        tasks -= n;
    }
}

/* Drops room that is given away, so that nobody looks at it again. */
static void drop_full(struct flow_rooms *rooms, bool by_rack)
{
    struct flow_room *first;
    while ((first = STAILQ_FIRST(rooms)) && !first->left)
        if (by_rack)
            STAILQ_REMOVE_HEAD(rooms, of_rack);
        else
            STAILQ_REMOVE_HEAD(rooms, of_class);
}

static void take_in_racks(struct flow_graph *graph, struct flow_group *group)
{
    for (struct sorted_node *n = sorted_first(&group->racks); n; n = sorted_next(n)) {
        const struct flow_wish *wish = container_of(n, struct flow_wish, of_group);
        drop_full(&wish->rack->rooms, true);
        take(graph, group, STAILQ_FIRST(&wish->rack->rooms), true, graph->links[wish->arc].flow);
    }
}

static void deal_out(struct flow_graph *graph)
{
    struct sorted_node *node;
    for (node = sorted_first(&graph->used); node; node = sorted_next(node))
        look_at_host(graph, container_of(node, struct flow_host, of_used));
    for (node = sorted_first(&graph->placing); node; node = sorted_next(node))
        take_in_racks(graph, container_of(node, struct flow_group, of_placing));
    for (node = sorted_first(&graph->placing); node; node = sorted_next(node)) {
        struct flow_group *group = container_of(node, struct flow_group, of_placing);
        drop_full(&group->class->rooms, false);
        if (group->anywhere)
            take(graph, group, STAILQ_FIRST(&group->class->rooms), false,
                 graph->links[group->anywhere].flow);
    }
}

/* Empties the lists of the last round, of hosts that it used. */
static void forget_rooms(struct flow_graph *graph)
{
    for (struct sorted_node *node = sorted_first(&graph->used); node; node = sorted_next(node)) {
        const struct flow_host *host = container_of(node, struct flow_host, of_used);
        for (uint32_t c = 0; c < host->n_rooms; c++)
            if (host->rooms[c])
                STAILQ_INIT(&host->rooms[c]->rack->rooms);
    }
    for (uint32_t c = 0; c < graph->n_classes; c++)
        if (graph->classes[c])
            STAILQ_INIT(&graph->classes[c]->rooms);
}

static int by_group_and_host(const void *left, const void *right)
{
    const struct flow_place *a = left, *b = right;
    if (a->group->name != b->group->name)
        return a->group->name < b->group->name ? -1 : 1;
    if (a->group->part != b->group->part)
        return a->group->part < b->group->part ? -1 : 1;
    if (a->host != b->host)
        return a->host < b->host ? -1 : 1;
    return (int)a->way - (int)b->way;
}

/* What the flow on the arcs runs. */
static void read_places(struct flow_graph *graph)
{
    graph->n_places = 0;
    forget_rooms(graph);
    deal_out(graph);
    if (graph->n_places)
        qsort(graph->places, graph->n_places, sizeof(*graph->places), by_group_and_host);
}

int flow_solve(struct flow_graph *graph)
{
    size_t n;
    graph->n_places = 0;
    if (graph->failed)
        return graph->failed;
    int r = mincost_set_node(graph->problem, SINK, -graph->supply_sum);
    r = r < 0 ? r : mincost_solve(graph->problem);
    if (r < 0) {
        graph->failed = r == -ENOMEM ? r : 0;
        return r;
    }
    graph->supplies[SINK] = -graph->supply_sum;
    graph_kept_forget(graph);
    const uint32_t *changed = mincost_changed(graph->problem, &n);
    for (size_t i = 0; i < n; i++)
        graph_carry(graph, &graph->links[changed[i]], mincost_flow(graph->problem, changed[i]));
    read_places(graph);
    return graph->failed;
}

const char *flow_reason(const struct flow_graph *graph)
{
    return mincost_reason(graph->problem);
}

uint64_t flow_looks(const struct flow_graph *graph)
{
    struct mincost_stats stats;
    size_t changed;
    mincost_get_stats(graph->problem, &stats);
    mincost_changed(graph->problem, &changed);
    return stats.arcs_looked_at + changed + graph->n_places;
}

const struct flow_place *flow_places(const struct flow_graph *graph, uint32_t *ret_n)
{
    *ret_n = graph->n_places;
    return graph->places;
}

/* ---- which of several optima ---- */

static void list(struct flow_graph *graph, uint32_t arc)
{
    if (graph_room(graph, &graph->listed, &graph->listed_allocated, graph->n_listed + 1,
                   sizeof(*graph->listed)))
        graph->listed[graph->n_listed++] = arc;
}

static void list_host(struct flow_graph *graph, const struct flow_host *host)
{
    const struct flow_wish *wish;
    TAILQ_FOREACH (wish, &host->wishes, of_host)
        list(graph, wish->arc);
    for (uint32_t c = 0; c < host->n_rooms; c++) {
        struct flow_room *room = host->rooms[c];
        if (!room)
            continue;
        list(graph, room->arc);
        if (room->most)
            list(graph, room->most);
        if (room->rack->seen != graph->round)
            list(graph, room->rack->arc);
        room->rack->seen = graph->round;
    }
}

static void list_group(struct flow_graph *graph, const struct flow_group *group)
{
    list(graph, group->wait);
    if (group->anywhere)
        list(graph, group->anywhere);
    for (struct sorted_node *n = sorted_first(&group->racks); n; n = sorted_next(n))
        list(graph, container_of(n, struct flow_wish, of_group)->arc);
}

/* Lists arcs in which optima can differ. WHY these are enough: two flows of equal cost differ by
 * cycles. A cycle does not pass S, since hosts and waiters differ there. So it leaves each host,
 * rack and cluster against a unit that comes there: the host is one that is used, the group one
 * that runs something; and it leaves a waiter for a group of the same one. */
static void list_all(struct flow_graph *graph)
{
    struct sorted_node *node;
    graph->n_listed = 0;
    graph->round++;
    for (node = sorted_first(&graph->used); node; node = sorted_next(node))
        list_host(graph, container_of(node, struct flow_host, of_used));
    for (node = sorted_first(&graph->placing); node; node = sorted_next(node)) {
        struct flow_waiter *waiter = container_of(node, struct flow_group, of_placing)->waiter;
        const struct flow_group *group;
        if (waiter->seen == graph->round)
            continue;
        waiter->seen = graph->round;
        TAILQ_FOREACH (group, &waiter->groups, of_waiter)
            list_group(graph, group);
    }
}

/* What decides between optima, drawn from names. WHY nothing for X → R: what others carry decides
 * it. */
static int64_t second_of(const struct link *link)
{
    const struct flow_group *group = link->thing;
    const struct flow_room *room = link->thing;
    uint64_t place = 0;
    if (link->kind == FLOW_OF_RACK)
        return 0;
    if (link->kind == FLOW_WISH_HOST || link->kind == FLOW_WISH_RACK) {
        const struct flow_wish *wish = link->thing;
        group = wish->group;
        place = wish->name;
    }
    uint64_t name = link->kind == FLOW_ROOM || link->kind == FLOW_MOST
                        ? mix(room->rack->class->name) + room->host->index
                        : mix(mix(group->name) + group->part) + place;
    return (int64_t)(mix(mix(name) + link->kind) >> 34);
}

/* WHY the list of places anew: other arcs carry other amounts. */
static bool settle(struct flow_graph *graph)
{
    bool settled = false;
    if (!graph_room(graph, &graph->seconds, &graph->seconds_allocated, graph->n_listed,
                    sizeof(*graph->seconds)))
        return false;
    for (uint32_t i = 0; i < graph->n_listed; i++)
        graph->seconds[i] = second_of(&graph->links[graph->listed[i]]);
    int r =
        mincost_settle(graph->problem, graph->listed, graph->seconds, graph->n_listed, &settled);
    if (r == -ENOMEM)
        graph->failed = r;
    if (r < 0 || !settled)
        return false;
    for (uint32_t i = 0; i < graph->n_listed; i++)
        graph_carry(graph, &graph->links[graph->listed[i]],
                    mincost_flow(graph->problem, graph->listed[i]));
    read_places(graph);
    return !graph->failed;
}

bool flow_settle(struct flow_graph *graph, uint64_t *ret_looks)
{
    bool unique = false;
    *ret_looks = 0;
    if (graph->alike || graph->failed)
        return false;
    list_all(graph);
    *ret_looks = graph->n_listed;
    if (graph->failed)
        return false;
    int r = mincost_is_unique(graph->problem, graph->listed, graph->n_listed, &unique);
    graph->failed = r < 0 ? r : graph->failed;
    if (r < 0 || unique)
        return r == 0;
    *ret_looks += graph->n_listed;
    return settle(graph);
}
