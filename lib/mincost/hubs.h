/* Nodes with very many neighbours (the cluster node X, racks), searched without scanning them.
 *
 * A hub keeps its arcs from tasks in two heaps, one for searches that come forward out of the hub
 * over the flow that tasks send it, one for searches that go backward from it to tasks that could
 * send some. An entry's key is a lower bound of what its half adds to the hub's distance: for task
 * T with an arc of cost c, −c + price[T] forward and c − price[T] backward. A bound that has become
 * too low is corrected when it comes to the top of a search; one that would become too high is
 * prevented by a new entry:
 *   - a task's price fell: a new forward entry, if its flow goes through the hub;
 *   - a task's price rose above what was posted: new backward entries in all its hubs (struct
 * mincost, posted);
 *   - the arc's flow changed: an entry in the heap that now holds it.
 * Entries that are not true any more (arc gone, full, or doubled) are harmless and dropped when
 * met, or when the heap is rebuilt because half of it is. A search reads a heap in order of
 * keys from its top, without taking anything out; entries made meanwhile wait behind the heap for
 * the next one, since most are never looked at. All other neighbours of a hub (racks, machines)
 * stand in a short list.
 *
 * Bounded: a hub is made when a node reaches HUB_DEGREE halves of which at most HUB_LINKS lead to
 * nodes that are not tasks; other nodes are scanned. The sink is never one, since searches end
 * there. Two entries of 8 bytes per arc. */
#pragma once

#include "lib/mincost/graph.h"

#ifdef MINCOST_SMALL_HUBS /* for tests */
enum { HUB_DEGREE = 4, HUB_LINKS = 6 };
#else
enum { HUB_DEGREE = 256, HUB_LINKS = 1024 };
#endif

enum hub_side { HUB_OUT, HUB_IN }; /* forward over residual halves, backward over residual mates */

struct hub_entry {
    int32_t key; /* in units of 2^key_shift, rounded down */
    uint32_t arc;
};

struct hub_heap {
    struct hub_entry *items;
    uint32_t count, allocated;
    uint32_t ordered; /* the first ones, a heap; the others came since it was last read */
};

/* A neighbour that is not a task. */
struct hub_link {
    int64_t cost; /* of the hub's half */
    uint32_t head;
    uint32_t via; /* arc << 1 | side of the hub's half */
};

struct hub {
    uint32_t node; /* NO_NODE: not in use */
    bool stale;    /* must be rebuilt before the next search */
    struct hub_heap heaps[2];
    struct hub_link *links;
    uint32_t link_count, link_allocated;
    struct u32_list frontier; /* heap positions a search has still to look at, least key first */
};

/* Makes, drops and rebuilds hubs after changes; call before every search. 0 or −ENOMEM. */
int hubs_prepare(struct mincost *m);

/* The hub with the most halves, or NO_NODE. O(hubs). */
uint32_t hubs_busiest(const struct mincost *m);

/* All keys are wrong: an algorithm set prices without saying so. */
void hubs_forget(struct mincost *m);
void hubs_done(struct mincost *m);

/* For changes.c. */
void hub_drop(struct mincost *m, uint32_t node);
void hub_arc_added(struct mincost *m, uint32_t arc, uint32_t tail, uint32_t head);
void hub_arc_changed(struct mincost *m, uint32_t arc, uint32_t tail, uint32_t head);
void hub_arc_removed(struct mincost *m, uint32_t arc, uint32_t tail, uint32_t head);

/* For all that move prices or flow. */
void hub_leaf_rose(struct mincost *m, uint32_t leaf);
void hub_leaf_fell(struct mincost *m, uint32_t leaf);
void hub_arc_flowed(struct mincost *m, uint32_t arc);

/* Reading a heap in order: start, then next until it returns false. `ret_least` is a lower bound of
 * the keys to come. */
void hub_start(struct mincost *m, struct hub *hub, enum hub_side side);
bool hub_least(const struct mincost *m, const struct hub *hub, enum hub_side side,
               int64_t *ret_least);
/* Takes the least; false when it was only a bound to correct, or not true any more. */
bool hub_next(struct mincost *m, struct hub *hub, enum hub_side side, uint32_t *ret_arc,
              int64_t *ret_key);
