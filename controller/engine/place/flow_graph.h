/* The graph of placement as minimum-cost flow: who waits, where there is room, what it costs. Pure:
 * it knows nothing of jobs. Private to controller/engine.
 *
 *     group T ──► host M                  a wish: one of its tasks has its block there
 *       │  └────► rack R ─► M             a wish for any host of the rack
 *       ├───────► cluster X ─► R ─► M ─► sink S
 *       └───────► waiter U ────────────► S
 *
 * A *group* is ready tasks that are alike (a source of as many units), a *waiter* what they wait
 * as (a job), a *class* what needs room of one kind: each class has an X and an R a rack, and room
 * of its own on each host, while the slots of a host serve all classes. Slots of a host get dearer
 * as it fills: M → S is up to FLOW_STEPS arcs. In a *bounded* class all ways to a host lead through
 * one node B between, T → B and R → B, and B → M says how many may.
 *
 * The caller changes the graph as facts change, and asks for the optimum of the moment: one round.
 * Nothing is rebuilt; a change costs what it touches, in mincost.h's terms.
 *
 * **Which optimum.** Costs are ranked by what is compared first: the caller's cost, then a number
 * of FLOW_TIE_BITS drawn from the names of group and host (or rack), or of the host itself, then
 * what is unlike for each host and for each waiter. So how many of a waiter's tasks run and how
 * many run on a host is the same in all optima. Where they differ in who runs where, flow_settle
 * takes the one of the least sum of numbers of 30 bits, drawn from the names of arcs: nearly always
 * one alone. Beyond FLOW_HOSTS_MAX hosts, or where waiters' numbers are alike modulo
 * FLOW_WAITERS_MAX, it
 * cannot.
 *
 * Memory: about 100 bytes an arc. After −ENOMEM, which flow_solve returns, the graph can only be
 * destroyed.
 *
 * Source: Sirius (Chen et al., Journal of Software 2017), section 3, table 2; the groups are its
 * future work. Choices: T → R costs what the caller says, M → S a host's load.
 *
 * One object in several files: flow_graph, flow_round, flow_last, flow_things. */
#pragma once

#include "lib/mincost/mincost.h"

#define FLOW_COST_MAX 524287 /* of the caller's costs, either way */
enum { FLOW_TIE_BITS = 6, FLOW_STEPS = 8, FLOW_HOSTS_MAX = 16384, FLOW_WAITERS_MAX = 16384 };

struct flow_graph;
struct flow_group;
struct flow_waiter;

/* How a task came to its host. */
enum flow_way { FLOW_BY_HOST, FLOW_BY_RACK, FLOW_BY_CLUSTER };

/* An optimum runs `tasks` of the group on the host. */
struct flow_place {
    void *tag; /* the group's */
    struct flow_group *group;
    uint32_t host, tasks;
    enum flow_way way;
};

/* 0 or −ENOMEM. The caller owns *ret_graph. It has classes 0 … classes − 1, all
 * unbounded. */
int flow_graph_create(uint32_t classes, struct flow_graph **ret_graph);
void flow_graph_destroy(struct flow_graph *graph); /* NULL is allowed */

/* The host's rack (a number that the caller chooses, densely; fixed once said), slots in use and
 * free, and what the last slot costs; the first one costs nothing. Of hosts that are alike in all
 * this the one with the smaller `tie` (its lowest FLOW_TIE_BITS) is used next; a number that the
 * host keeps decides beyond that slot's step, so that another `tie` changes one arc. O(1). */
void flow_set_host(struct flow_graph *graph, uint32_t host, uint32_t rack, uint32_t taken,
                   uint32_t free, int64_t load_cost, uint64_t tie);
/* One more class; its number, which may be one that was removed. O(1). */
uint32_t flow_add_class(struct flow_graph *graph, bool bounded);
/* What it is called where optima tie; the same whatever became of the graph before. Without a name,
 * or with one that another class has, more of them may stay undecided. O(1). */
void flow_name_class(struct flow_graph *graph, uint32_t class, uint64_t name);
/* It has no groups any more, and was added. O(its rooms). */
void flow_remove_class(struct flow_graph *graph, uint32_t class);

/* How many more tasks of the class fit on the host, which was set, and what each costs there beside
 * its own costs. O(1). */
void flow_set_room(struct flow_graph *graph, uint32_t host, uint32_t class, uint32_t times,
                   int64_t cost);
/* Of a bounded class, before a group of it wishes for the host: how many may run on the host, by
 * whatever way, and how many in its rack that came there by no wish. O(1). */
void flow_set_most(struct flow_graph *graph, uint32_t host, uint32_t class, uint32_t on_host,
                   uint32_t in_rack);

/* A new waiter, with a group; NULL: no memory. `number` orders waiters that are alike: the smaller
 * waits less. It goes with its last group. */
struct flow_waiter *flow_add_waiter(struct flow_graph *graph, uint64_t number);
/* How many of its tasks must wait and may, and what it costs each. O(1). */
void flow_set_waiter(struct flow_graph *graph, struct flow_waiter *waiter, uint32_t lower,
                     uint32_t upper, int64_t cost);

/* A new group without tasks; NULL: no memory. (`name`, `part`) names it, and no other in the
 * graph. With FLOW_RUNNING in its part it is a task that runs: flow_set_home. */
#define FLOW_RUNNING (UINT64_C(1) << 63)
struct flow_group *flow_add_group(struct flow_graph *graph, struct flow_waiter *waiter,
                                  uint32_t class, uint64_t name, uint64_t part, void *tag);
/* How many ready tasks it has. O(1). */
void flow_set_tasks(struct flow_graph *graph, struct flow_group *group, uint32_t tasks);
/* What it costs to run one anywhere; FLOW_NOWHERE: only where it wishes. O(1). */
#define FLOW_NOWHERE INT64_MAX
void flow_set_anywhere(struct flow_graph *graph, struct flow_group *group, int64_t cost);
/* What it costs one to wait, beside the waiter's cost; FLOW_NOWHERE: none may. `tie` is below
 * 1 << FLOW_TIE_BITS: of those that cost the same to wait the one with the smaller waits. O(1). */
void flow_set_wait(struct flow_graph *graph, struct flow_group *group, int64_t cost, uint64_t tie);
/* One of its tasks runs on the host (which was set), and may stay at this cost; once a group, after
 * its wishes for that host. No tie is drawn: which of several stay is decided by those of waiting.
 * O(log wishes of the group). */
void flow_set_home(struct flow_graph *graph, struct flow_group *group, uint32_t host, int64_t cost);
/* The group's wishes for the host (which was set), or for the rack of this number and name, are
 * `change` tasks more, at this cost each. O(log wishes of the group). */
void flow_wish_host(struct flow_graph *graph, struct flow_group *group, uint32_t host,
                    int32_t change, int64_t cost);
void flow_wish_rack(struct flow_graph *graph, struct flow_group *group, uint32_t rack,
                    uint64_t rack_name, int32_t change, int64_t cost);
/* None of its tasks wishes for anything any more. O(its wishes). */
void flow_drop_wishes(struct flow_graph *graph, struct flow_group *group);
/* O(its wishes). */
void flow_remove_group(struct flow_graph *graph, struct flow_group *group);

/* Finds the optimum. 0; −EDOM when no flow keeps the waiters' bounds (flow_reason names one);
 * −ERANGE when costs are too large for so large a graph; −ENOMEM. Not O(log n): in the worst case
 * it looks at every arc for each change, so it grows with hosts and with groups and their wishes,
 * not with the tasks of a group. */
int flow_solve(struct flow_graph *graph);
const char *flow_reason(const struct flow_graph *graph);
/* What the last flow_solve looked at: arcs, and places. */
uint64_t flow_looks(const struct flow_graph *graph);

/* What the optimum runs, by group and host. Borrowed until the next call of flow_solve. Of optima
 * that carry the same over each arc it is the same list. O(1). */
const struct flow_place *flow_places(const struct flow_graph *graph, uint32_t *ret_n);
/* Makes what the optimum runs a function of what the graph is, not of how it came about; false: it
 * cannot, since several optima run other things and nothing decides. −ENOMEM counts as false.
 * *ret_looks is how many arcs it looked at. O(hosts and groups that run something, the groups that
 * wish for these hosts, and the groups of the same waiters), almost; where several optima tie, also
 * what it takes to solve the arcs that can carry another amount; flow_places is another list
 * then. */
bool flow_settle(struct flow_graph *graph, uint64_t *ret_looks);

/* For people and tests: what stands for what, and what the optimum's arcs carry. */
enum flow_kind {
    FLOW_WISH_HOST,  /* T → M, T → B */
    FLOW_WISH_RACK,  /* T → R */
    FLOW_ANYWHERE,   /* T → X */
    FLOW_WAIT,       /* T → U */
    FLOW_OF_RACK,    /* X → R */
    FLOW_ROOM,       /* R → M, R → B */
    FLOW_MOST,       /* B → M */
    FLOW_SLOTS,      /* M → S */
    FLOW_UNSCHEDULED /* U → S */
};
struct flow_arc {
    enum flow_kind kind;
    uint32_t tail, head;
    int64_t lower, capacity, flow;
    int64_t cost;        /* the caller's */
    int64_t ranked;      /* with what breaks ties: what is minimised */
    uint32_t host, rack; /* where it has one */
    uint32_t class;      /* where it has one */
    bool bounded;        /* its end at the host, or its begin, is B */
    bool home;           /* a running task stays */
    uint64_t name, part; /* of the group, where it has one; of a waiter its number as `name` */
    void *tag;           /* of the group, where it has one */
};
/* The arc of this number; false: there is none. Numbers run from 1 to mincost_max_arc. */
bool flow_arc(const struct flow_graph *graph, uint32_t arc, struct flow_arc *ret_arc);
/* The same of the last optimum, however it was changed since; its `tag` is NULL. False as well
 * where there was no optimum yet. Numbers run to flow_last_max. O(classes). */
bool flow_last_arc(const struct flow_graph *graph, uint32_t arc, struct flow_arc *ret_arc);
uint32_t flow_last_max(const struct flow_graph *graph);
/* What the next slot of the host costs beside what the last optimum runs there; false: it has none.
 * O(1). */
bool flow_next_slot(const struct flow_graph *graph, uint32_t host, int64_t *ret_cost);
/* Who would gain most by a slot of the host, of the groups that wait in the last optimum, those of
 * the waiter of this number left out: what waiting costs it less what running there would. NULL:
 * none would gain. O(arcs). */
const struct flow_group *flow_next_in_line(const struct flow_graph *graph, uint32_t host,
                                           uint64_t but, int64_t *ret_gain);
/* How many of the group's tasks wait in the last optimum. O(1). */
int64_t flow_waiting(const struct flow_graph *graph, const struct flow_group *group);
/* How many of its tasks the last optimum runs on the host because it wishes so, or because they are
 * at home there. O(log wishes of the group). */
int64_t flow_on_host(const struct flow_graph *graph, const struct flow_group *group, uint32_t host);
/* The group's name: its waiter's number. O(1). */
uint64_t flow_group_name(const struct flow_group *group);
/* The supply of a node. Node 1 is S. */
int64_t flow_supply(const struct flow_graph *graph, uint32_t node);
/* The problem that is solved, borrowed: to certify it, and for its figures. */
const struct mincost *flow_problem(const struct flow_graph *graph);
