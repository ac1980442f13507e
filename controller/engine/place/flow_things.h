/* What the graph of placement is made of. Internal to flow_graph.c, flow_round.c and flow_last.c.
 *
 * One object in several files: flow_graph. */
#pragma once

#include "controller/engine/base/sorted.h"
#include "controller/engine/place/flow_graph.h"

#include <bsd/sys/queue.h>

#define SINK 1u

enum { ID_BITS = 15, COST_SHIFT = ID_BITS + FLOW_TIE_BITS, NO_LIMIT = 1 << 30 };

/* What it costs, what decides between equals, and what is unlike for each host and waiter. */
static inline int64_t ranked_cost(int64_t cost, uint64_t tie, uint32_t id)
{
    return cost * (INT64_C(1) << COST_SHIFT) +
           (int64_t)((tie & ((1u << FLOW_TIE_BITS) - 1)) << ID_BITS) + id;
}

/* splitmix64's finalizer (Steele, Lea, Flood 2014). */
static inline uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct link {
    enum flow_kind kind;
    uint32_t tail, head; /* tail 0: the number is not in use */
    int64_t lower, capacity, cost, ranked, flow;
    void *thing; /* by kind: the wish, group, rack, room, host or waiter */
};

struct flow_room {
    struct flow_host *host;
    struct flow_rack *rack;
    uint32_t arc, times;
    uint32_t node, most; /* of a bounded class: B, and its arc; else 0 */
    uint32_t left;       /* while places are dealt out: units that came here and have no task yet */
    STAILQ_ENTRY(flow_room) of_rack, of_class;
};
STAILQ_HEAD(flow_rooms, flow_room);

/* A rack of one class. */
struct flow_rack {
    uint32_t number, node, arc, seen;
    struct flow_class *class;
    struct flow_rooms rooms;
};

struct flow_class {
    uint32_t number, node;
    uint64_t name;
    bool bounded;
    struct flow_rack **racks; /* by number; NULL: not used yet */
    uint32_t n_racks;
    struct flow_rooms rooms;
};

struct flow_host {
    uint32_t index, rack, node;
    uint32_t steps[FLOW_STEPS];
    struct flow_room **rooms; /* by class; NULL: none yet */
    uint32_t n_rooms;         /* classes there is memory for */
    TAILQ_HEAD(, flow_wish) wishes;
    struct sorted_node of_used;
    int64_t used; /* units that come here */
};

struct flow_wish {
    struct flow_group *group;
    struct flow_host *host; /* or */
    struct flow_rack *rack;
    uint64_t name; /* of host or rack */
    bool home;     /* a task of the group runs there */
    uint32_t arc, tasks;
    struct sorted_node of_group;
    TAILQ_ENTRY(flow_wish) of_host;
};

struct flow_group {
    struct flow_waiter *waiter;
    struct flow_class *class;
    void *tag;
    uint64_t name, part;
    uint32_t node, tasks, wait, anywhere; /* arcs; 0: none */
    int64_t placed;                       /* units that run */
    struct sorted hosts, racks;           /* wishes */
    struct sorted_node of_placing;
    TAILQ_ENTRY(flow_group) of_waiter;
};

struct flow_waiter {
    uint64_t number;
    uint32_t node, arc, id, seen;
    TAILQ_HEAD(, flow_group) groups;
};

struct numbers {
    uint32_t *spare, n, allocated, next;
};

struct flow_graph {
    struct mincost *problem;
    int failed;
    struct flow_class **classes; /* by number; NULL: none */
    uint32_t n_classes, classes_allocated;
    struct numbers spare_classes;
    struct flow_host **hosts;
    uint32_t n_hosts;
    struct link *links;
    int64_t *supplies;
    uint32_t n_links, n_supplies;
    struct numbers nodes, arcs;
    uint32_t *ids;      /* how many waiters have this one */
    uint32_t alike;     /* hosts and waiters that share one */
    int64_t supply_sum; /* of all groups */
    struct sorted used, placing;
    struct flow_place *places;
    uint32_t n_places, places_allocated;
    uint32_t *listed, n_listed, listed_allocated;
    int64_t *seconds; /* of these arcs: what decides between optima of equal cost */
    uint32_t seconds_allocated;
    uint32_t round;
    /* The last optimum, where it is not what stands now (flow_last.c). */
    bool solved;          /* there is one */
    struct flow_arc *was; /* arcs that were changed since, as they were */
    uint32_t *was_of;     /* by arc: 0: as it is; ARC_NEW: not there; else its place in `was` + 1 */
    uint32_t *touched;    /* arcs for which was_of is not 0 */
    uint32_t n_was, was_allocated, was_of_allocated, n_touched, touched_allocated;
};

#define ARC_NEW UINT32_MAX

/* Makes an array of items of this size hold at least n; zeroes what is new. False: no memory, which
 * graph->failed keeps. */
bool graph_room(struct flow_graph *graph, void *array, uint32_t *allocated, uint32_t n,
                size_t size);
/* The host's room for this class; NULL: none yet. */
static inline struct flow_room *room_of(const struct flow_host *host, uint32_t class)
{
    return class < host->n_rooms ? host->rooms[class] : NULL;
}
/* The arc is about to change, to go or, with `fresh`, to come: what it was in the last optimum is
 * kept. O(1). */
void graph_keep(struct flow_graph *graph, uint32_t arc, bool fresh);
/* What stands now is the last optimum. O(changes since the one before). */
void graph_kept_forget(struct flow_graph *graph);
/* The units that an optimum sends over the arc became another number. */
void graph_carry(struct flow_graph *graph, struct link *link, int64_t flow);
