#include "controller/engine/place/flow_things.h"

#include "lib/container_of.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool graph_room(struct flow_graph *graph, void *array, uint32_t *allocated, uint32_t n, size_t size)
{
    void **items = array;
    uint32_t room = *allocated ? *allocated : 16;
    if (n <= *allocated)
        return true;
    while (room < n)
        room *= 2;
    void *grown = reallocarray(*items, room, size);
    if (!grown) {
        graph->failed = -ENOMEM;
        return false;
    }
    memset((char *)grown + *allocated * size, 0, (room - *allocated) * size);
    *items = grown;
    *allocated = room;
    return true;
}

static void *make(struct flow_graph *graph, size_t size)
{
    void *thing = calloc(1, size);
    if (!thing)
        graph->failed = -ENOMEM;
    return thing;
}

static void keep(struct flow_graph *graph, int r)
{
    if (r < 0 && !graph->failed)
        graph->failed = r;
}

/* ---- numbers ---- */

static uint32_t number_take(struct numbers *numbers)
{
    return numbers->n ? numbers->spare[--numbers->n] : ++numbers->next;
}

static void number_give(struct flow_graph *graph, struct numbers *numbers, uint32_t number)
{
    if (graph_room(graph, &numbers->spare, &numbers->allocated, numbers->n + 1,
                   sizeof(*numbers->spare)))
        numbers->spare[numbers->n++] = number;
}

static uint32_t node_add(struct flow_graph *graph)
{
    uint32_t node = number_take(&graph->nodes);
    if (!graph_room(graph, &graph->supplies, &graph->n_supplies, node + 1,
                    sizeof(*graph->supplies)))
        return 0;
    keep(graph, mincost_set_node(graph->problem, node, 0));
    graph->supplies[node] = 0;
    return node;
}

static void node_remove(struct flow_graph *graph, uint32_t node)
{
    keep(graph, mincost_remove_node(graph->problem, node));
    graph->supplies[node] = 0;
    number_give(graph, &graph->nodes, node);
}

static uint32_t arc_add(struct flow_graph *graph, struct link link)
{
    uint32_t arc = number_take(&graph->arcs);
    if (!graph_room(graph, &graph->links, &graph->n_links, arc + 1, sizeof(*graph->links)))
        return 0;
    graph_keep(graph, arc, true);
    keep(graph, mincost_add_arc(graph->problem, arc, link.tail, link.head, link.lower,
                                link.capacity, link.ranked));
    graph->links[arc] = link;
    return arc;
}

static void arc_set(struct flow_graph *graph, uint32_t arc, int64_t lower, int64_t capacity,
                    int64_t cost, int64_t ranked)
{
    if (graph->failed)
        return;
    struct link *link = &graph->links[arc];
    if (link->lower == lower && link->capacity == capacity && link->ranked == ranked)
        return;
    graph_keep(graph, arc, false);
    link->lower = lower;
    link->capacity = capacity;
    link->cost = cost;
    link->ranked = ranked;
    keep(graph, mincost_modify_arc(graph->problem, arc, lower, capacity, ranked));
}

static void arc_remove(struct flow_graph *graph, uint32_t arc)
{
    if (graph->failed)
        return;
    graph_keep(graph, arc, false);
    graph_carry(graph, &graph->links[arc], 0);
    keep(graph, mincost_remove_arc(graph->problem, arc));
    graph->links[arc] = (struct link){0};
    number_give(graph, &graph->arcs, arc);
}

static void supply_set(struct flow_graph *graph, uint32_t node, int64_t supply)
{
    if (graph->failed || graph->supplies[node] == supply)
        return;
    graph->supply_sum += supply - graph->supplies[node];
    graph->supplies[node] = supply;
    keep(graph, mincost_set_node(graph->problem, node, supply));
}

/* ---- classes, racks, hosts ---- */

static void class_done(struct flow_class *class)
{
    for (uint32_t r = 0; class && r < class->n_racks; r++)
        free(class->racks[r]);
    if (class)
        free(class->racks);
    free(class);
}

uint32_t flow_add_class(struct flow_graph *graph, bool bounded)
{
    struct flow_class *class = graph->failed ? NULL : make(graph, sizeof(*class));
    if (!class)
        return 0;
    class->number = graph->spare_classes.n ? graph->spare_classes.spare[--graph->spare_classes.n]
                                           : graph->n_classes++;
    if (!graph_room(graph, &graph->classes, &graph->classes_allocated, graph->n_classes,
                    sizeof(*graph->classes))) {
        free(class);
        return 0;
    }
    class->node = node_add(graph);
    class->bounded = bounded;
    STAILQ_INIT(&class->rooms);
    graph->classes[class->number] = class;
    return class->number;
}

void flow_name_class(struct flow_graph *graph, uint32_t class, uint64_t name)
{
    if (!graph->failed)
        graph->classes[class]->name = name;
}

int flow_graph_create(uint32_t classes, struct flow_graph **ret_graph)
{
    struct flow_graph *graph = calloc(1, sizeof(*graph));
    if (!graph)
        return -ENOMEM;
    keep(graph, mincost_create(0, 0, &graph->problem));
    graph->ids = make(graph, FLOW_WAITERS_MAX * sizeof(*graph->ids));
    if (!graph->failed)
        node_add(graph);
    for (uint32_t c = 0; c < classes && !graph->failed; c++)
        flow_add_class(graph, false);
    if (graph->failed) {
        int r = graph->failed;
        flow_graph_destroy(graph);
        return r;
    }
    *ret_graph = graph;
    return 0;
}

static struct flow_rack *rack_of(struct flow_graph *graph, struct flow_class *class, uint32_t rack)
{
    if (!graph_room(graph, &class->racks, &class->n_racks, rack + 1, sizeof(*class->racks)))
        return NULL;
    if (class->racks[rack])
        return class->racks[rack];
    struct flow_rack *made = make(graph, sizeof(*made));
    if (!made)
        return NULL;
    class->racks[rack] = made;
    STAILQ_INIT(&made->rooms);
    made->number = rack;
    made->class = class;
    made->node = node_add(graph);
    made->arc = arc_add(graph, (struct link){.kind = FLOW_OF_RACK,
                                             .tail = class->node,
                                             .head = made->node,
                                             .capacity = NO_LIMIT,
                                             .thing = made});
    return made;
}

static struct flow_host *host_of(struct flow_graph *graph, uint32_t index, uint32_t rack)
{
    if (!graph_room(graph, &graph->hosts, &graph->n_hosts, index + 1, sizeof(*graph->hosts)))
        return NULL;
    if (graph->hosts[index])
        return graph->hosts[index];
    struct flow_host *host = make(graph, sizeof(*host));
    if (!host)
        return NULL;
    graph->hosts[index] = host;
    host->index = index;
    host->rack = rack;
    TAILQ_INIT(&host->wishes);
    host->node = node_add(graph);
    graph->alike += index >= FLOW_HOSTS_MAX;
    for (int i = 0; i < FLOW_STEPS && !graph->failed; i++)
        host->steps[i] = arc_add(
            graph,
            (struct link){.kind = FLOW_SLOTS, .tail = host->node, .head = SINK, .thing = host});
    return host;
}

static uint32_t at_least(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

void flow_set_host(struct flow_graph *graph, uint32_t index, uint32_t rack, uint32_t taken,
                   uint32_t free, int64_t load_cost, uint64_t tie)
{
    struct flow_host *host = graph->failed ? NULL : host_of(graph, index, rack);
    uint64_t slots = (uint64_t)taken + free, steps = slots < FLOW_STEPS ? slots : FLOW_STEPS;
    bool next = false; /* the step of the next slot has passed */
    for (uint32_t i = 0; host && i < FLOW_STEPS && !graph->failed; i++) {
        uint32_t from = steps ? (uint32_t)(slots * i / steps) : 0,
                 to = i < steps ? (uint32_t)(slots * (i + 1) / steps) : from;
        int64_t cost = steps > 1 ? load_cost * i / (int64_t)(steps - 1) : 0;
        uint64_t of_step = mix((uint64_t)index * FLOW_STEPS + i);
        from = at_least(from, taken);
        arc_set(graph, host->steps[i], 0, to > from ? to - from : 0, cost,
                ranked_cost(cost, !next && to > from ? tie : of_step, index % FLOW_HOSTS_MAX));
        next |= to > from;
    }
}

/* A node between, and the arc from there to the host. */
static void between(struct flow_graph *graph, struct flow_room *room)
{
    room->node = node_add(graph);
    if (!graph->failed)
        room->most = arc_add(graph, (struct link){.kind = FLOW_MOST,
                                                  .tail = room->node,
                                                  .head = room->host->node,
                                                  .thing = room});
}

static struct flow_room *room_add(struct flow_graph *graph, struct flow_host *host,
                                  struct flow_class *class)
{
    struct flow_rack *rack = rack_of(graph, class, host->rack);
    if (!rack || !graph_room(graph, &host->rooms, &host->n_rooms, class->number + 1,
                             sizeof(struct flow_room *)))
        return NULL;
    struct flow_room *room = make(graph, sizeof(*room));
    if (!room)
        return NULL;
    host->rooms[class->number] = room;
    *room = (struct flow_room){.host = host, .rack = rack};
    if (class->bounded)
        between(graph, room);
    if (graph->failed)
        return NULL;
    room->arc = arc_add(graph, (struct link){.kind = FLOW_ROOM,
                                             .tail = rack->node,
                                             .head = class->bounded ? room->node : host->node,
                                             .thing = room});
    return graph->failed ? NULL : room;
}

void flow_set_room(struct flow_graph *graph, uint32_t index, uint32_t class, uint32_t times,
                   int64_t cost)
{
    struct flow_host *host = graph->failed ? NULL : graph->hosts[index];
    struct flow_room *room = host ? room_of(host, class) : NULL;
    if (host && !room && times)
        room = room_add(graph, host, graph->classes[class]);
    if (!room)
        return;
    room->times = times;
    arc_set(graph, room->arc, 0, times, cost, ranked_cost(cost, 0, 0));
}

void flow_set_most(struct flow_graph *graph, uint32_t index, uint32_t class, uint32_t on_host,
                   uint32_t in_rack)
{
    struct flow_host *host = graph->failed ? NULL : graph->hosts[index];
    struct flow_room *room = host ? room_of(host, class) : NULL;
    if (host && !room)
        room = room_add(graph, host, graph->classes[class]);
    if (!room)
        return;
    arc_set(graph, room->most, 0, on_host < NO_LIMIT ? on_host : NO_LIMIT, 0, 0);
    arc_set(graph, room->rack->arc, 0, in_rack < NO_LIMIT ? in_rack : NO_LIMIT, 0, 0);
}

static void room_remove(struct flow_graph *graph, struct flow_host *host, uint32_t class)
{
    struct flow_room *room = room_of(host, class);
    if (!room)
        return;
    arc_remove(graph, room->arc);
    if (room->node) {
        arc_remove(graph, room->most);
        node_remove(graph, room->node);
    }
    host->rooms[class] = NULL;
    free(room);
}

void flow_remove_class(struct flow_graph *graph, uint32_t number)
{
    struct flow_class *class = graph->failed ? NULL : graph->classes[number];
    if (!class)
        return;
    for (uint32_t h = 0; h < graph->n_hosts && !graph->failed; h++)
        if (graph->hosts[h])
            room_remove(graph, graph->hosts[h], number);
    for (uint32_t r = 0; r < class->n_racks && !graph->failed; r++) {
        if (!class->racks[r])
            continue;
        arc_remove(graph, class->racks[r]->arc);
        node_remove(graph, class->racks[r]->node);
    }
    if (graph->failed)
        return;
    node_remove(graph, class->node);
    class_done(class);
    graph->classes[number] = NULL;
    number_give(graph, &graph->spare_classes, number);
}

/* ---- waiters and groups ---- */

struct flow_waiter *flow_add_waiter(struct flow_graph *graph, uint64_t number)
{
    struct flow_waiter *waiter = graph->failed ? NULL : make(graph, sizeof(*waiter));
    if (!waiter)
        return NULL;
    waiter->number = number;
    waiter->id = FLOW_HOSTS_MAX + FLOW_WAITERS_MAX - 1 - (uint32_t)(number % FLOW_WAITERS_MAX);
    graph->alike += graph->ids[waiter->id - FLOW_HOSTS_MAX]++ > 0;
    TAILQ_INIT(&waiter->groups);
    waiter->node = node_add(graph);
    waiter->arc = arc_add(graph, (struct link){.kind = FLOW_UNSCHEDULED,
                                               .tail = waiter->node,
                                               .head = SINK,
                                               .capacity = NO_LIMIT,
                                               .ranked = waiter->id,
                                               .thing = waiter});
    return waiter;
}

void flow_set_waiter(struct flow_graph *graph, struct flow_waiter *waiter, uint32_t lower,
                     uint32_t upper, int64_t cost)
{
    arc_set(graph, waiter->arc, lower, upper < NO_LIMIT ? upper : NO_LIMIT, cost,
            ranked_cost(cost, 0, waiter->id));
}

static void waiter_remove(struct flow_graph *graph, struct flow_waiter *waiter)
{
    arc_remove(graph, waiter->arc);
    if (!graph->failed)
        node_remove(graph, waiter->node);
    graph->alike -= --graph->ids[waiter->id - FLOW_HOSTS_MAX] > 0;
    free(waiter);
}

struct flow_group *flow_add_group(struct flow_graph *graph, struct flow_waiter *waiter,
                                  uint32_t class, uint64_t name, uint64_t part, void *tag)
{
    struct flow_group *group = graph->failed ? NULL : make(graph, sizeof(*group));
    if (!group)
        return NULL;
    *group = (struct flow_group){
        .waiter = waiter, .class = graph->classes[class], .tag = tag, .name = name, .part = part};
    TAILQ_INSERT_TAIL(&waiter->groups, group, of_waiter);
    group->node = node_add(graph);
    group->wait = arc_add(graph, (struct link){.kind = FLOW_WAIT,
                                               .tail = group->node,
                                               .head = waiter->node,
                                               .capacity = NO_LIMIT,
                                               .thing = group});
    return group;
}

void flow_set_tasks(struct flow_graph *graph, struct flow_group *group, uint32_t tasks)
{
    group->tasks = tasks;
    supply_set(graph, group->node, tasks);
}

void flow_set_anywhere(struct flow_graph *graph, struct flow_group *group, int64_t cost)
{
    if (cost == FLOW_NOWHERE) {
        if (group->anywhere)
            arc_remove(graph, group->anywhere);
        group->anywhere = 0;
    } else if (group->anywhere) {
        arc_set(graph, group->anywhere, 0, NO_LIMIT, cost, ranked_cost(cost, 0, 0));
    } else if (!graph->failed) {
        group->anywhere = arc_add(graph, (struct link){.kind = FLOW_ANYWHERE,
                                                       .tail = group->node,
                                                       .head = group->class->node,
                                                       .capacity = NO_LIMIT,
                                                       .cost = cost,
                                                       .ranked = ranked_cost(cost, 0, 0),
                                                       .thing = group});
    }
}

void flow_set_wait(struct flow_graph *graph, struct flow_group *group, int64_t cost, uint64_t tie)
{
    bool may = cost != FLOW_NOWHERE;
    int64_t each = may ? cost : 0;
    arc_set(graph, group->wait, 0, may ? NO_LIMIT : 0, each, ranked_cost(each, tie, 0));
}

/* ---- wishes ---- */

static uint64_t tie_of(const struct flow_group *group, uint64_t place)
{
    return mix(mix(mix(group->name) + group->part) + place);
}

static struct flow_wish *wish_find(const struct sorted *wishes, uint32_t number)
{
    struct sorted_node *node = sorted_find(wishes, (struct sorted_key){number, 0, 0});
    return node ? container_of(node, struct flow_wish, of_group) : NULL;
}

static void wish_remove(struct flow_graph *graph, struct flow_wish *wish)
{
    arc_remove(graph, wish->arc);
    sorted_remove(wish->host ? &wish->group->hosts : &wish->group->racks, &wish->of_group);
    if (wish->host)
        TAILQ_REMOVE(&wish->host->wishes, wish, of_host);
    free(wish);
}

static int64_t wish_ranked(const struct flow_wish *wish, int64_t cost)
{
    return ranked_cost(cost, wish->home ? 0 : tie_of(wish->group, wish->name), 0);
}

static void wish_change(struct flow_graph *graph, struct flow_wish *wish, int32_t change,
                        int64_t cost)
{
    wish->tasks += (uint32_t)change;
    if (wish->tasks)
        arc_set(graph, wish->arc, 0, wish->tasks, cost, wish_ranked(wish, cost));
    else
        wish_remove(graph, wish);
}

/* The host, or what lies before it. */
static uint32_t host_end(const struct flow_wish *wish)
{
    const struct flow_class *class = wish->group->class;
    return class->bounded ? room_of(wish->host, class->number)->node : wish->host->node;
}

static void wish_add(struct flow_graph *graph, const struct flow_wish *from, uint32_t number,
                     int64_t cost)
{
    struct flow_wish *wish = make(graph, sizeof(*wish));
    if (!wish)
        return;
    *wish = *from;
    sorted_insert(wish->host ? &wish->group->hosts : &wish->group->racks, &wish->of_group,
                  (struct sorted_key){number, 0, 0}, 0);
    if (wish->host)
        TAILQ_INSERT_TAIL(&wish->host->wishes, wish, of_host);
    wish->arc = arc_add(graph, (struct link){.kind = wish->host ? FLOW_WISH_HOST : FLOW_WISH_RACK,
                                             .tail = wish->group->node,
                                             .head = wish->host ? host_end(wish) : wish->rack->node,
                                             .capacity = wish->tasks,
                                             .cost = cost,
                                             .ranked = wish_ranked(wish, cost),
                                             .thing = wish});
}

void flow_wish_host(struct flow_graph *graph, struct flow_group *group, uint32_t host,
                    int32_t change, int64_t cost)
{
    if (graph->failed)
        return;
    struct flow_wish *wish = wish_find(&group->hosts, host);
    if (wish)
        wish_change(graph, wish, change, cost);
    else if (change > 0)
        wish_add(graph,
                 &(struct flow_wish){.group = group,
                                     .host = graph->hosts[host],
                                     .name = host,
                                     .tasks = (uint32_t)change},
                 host, cost);
}

void flow_set_home(struct flow_graph *graph, struct flow_group *group, uint32_t host, int64_t cost)
{
    flow_wish_host(graph, group, host, 1, cost);
    struct flow_wish *wish = graph->failed ? NULL : wish_find(&group->hosts, host);
    if (!wish)
        return;
    wish->home = true;
    arc_set(graph, wish->arc, 0, wish->tasks, cost, ranked_cost(cost, 0, 0));
}

void flow_wish_rack(struct flow_graph *graph, struct flow_group *group, uint32_t rack,
                    uint64_t rack_name, int32_t change, int64_t cost)
{
    if (graph->failed)
        return;
    struct flow_wish *wish = wish_find(&group->racks, rack);
    struct flow_rack *at = wish || change <= 0 ? NULL : rack_of(graph, group->class, rack);
    if (wish)
        wish_change(graph, wish, change, cost);
    else if (at)
        wish_add(graph,
                 &(struct flow_wish){
                     .group = group, .rack = at, .name = rack_name, .tasks = (uint32_t)change},
                 rack, cost);
}

static void drop_wishes(struct flow_graph *graph, struct sorted *wishes)
{
    struct sorted_node *node;
    while ((node = sorted_first(wishes)))
        wish_remove(graph, container_of(node, struct flow_wish, of_group));
}

void flow_drop_wishes(struct flow_graph *graph, struct flow_group *group)
{
    drop_wishes(graph, &group->hosts);
    drop_wishes(graph, &group->racks);
}

void flow_remove_group(struct flow_graph *graph, struct flow_group *group)
{
    struct flow_waiter *waiter = group->waiter;
    flow_drop_wishes(graph, group);
    flow_set_anywhere(graph, group, FLOW_NOWHERE);
    arc_remove(graph, group->wait);
    flow_set_tasks(graph, group, 0);
    if (!graph->failed)
        node_remove(graph, group->node);
    TAILQ_REMOVE(&waiter->groups, group, of_waiter);
    sorted_remove(&graph->placing, &group->of_placing);
    free(group);
    if (TAILQ_EMPTY(&waiter->groups))
        waiter_remove(graph, waiter);
}

/* ---- the end ---- */

static void host_done(struct flow_host *host)
{
    for (uint32_t c = 0; host && c < host->n_rooms; c++)
        free(host->rooms[c]);
    if (host)
        free(host->rooms);
    free(host);
}

/* The groups and waiters that arcs name, each once. */
static void free_things(const struct link *link)
{
    if (link->kind == FLOW_WISH_HOST || link->kind == FLOW_WISH_RACK || link->kind == FLOW_WAIT ||
        link->kind == FLOW_UNSCHEDULED)
        free(link->thing);
}

void flow_graph_destroy(struct flow_graph *graph)
{
    if (!graph)
        return;
    for (uint32_t a = 1; a < graph->n_links; a++)
        if (graph->links[a].tail)
            free_things(&graph->links[a]);
    for (uint32_t c = 0; c < graph->n_classes; c++)
        class_done(graph->classes[c]);
    for (uint32_t h = 0; h < graph->n_hosts; h++)
        host_done(graph->hosts[h]);
    mincost_destroy(graph->problem);
    free(graph->classes);
    free(graph->hosts);
    free(graph->links);
    free(graph->supplies);
    free(graph->nodes.spare);
    free(graph->arcs.spare);
    free(graph->spare_classes.spare);
    free(graph->ids);
    free(graph->places);
    free(graph->listed);
    free(graph->seconds);
    free(graph->was);
    free(graph->was_of);
    free(graph->touched);
    free(graph);
}
