/* Minimum-cost flow that is kept optimal while the problem changes.
 *
 * A problem is a set of nodes with supplies and a set of arcs with a lower bound, a capacity and a
 * cost for each unit of flow. An optimum is a flow that keeps every bound, sends each node's supply
 * away (or brings its demand, a negative supply) and costs least. The caller changes the problem in
 * any way and asks for the optimum again: that is one round. What the last round found, flow and
 * prices, is where the next one starts, so that a round costs what its changes touch and not what
 * the problem holds. Nothing is approximate: an optimum can be certified from scratch
 * (mincost_certify), and all numbers are integers.
 *
 * Nodes and arcs carry numbers that the caller chooses. They index tables, so they should be dense;
 * they may be used again after removal, also within the round. The tables grow to the highest
 * number used, up to MINCOST_ID_MAX. mincost_create reserves room. Rounds that start from nothing
 * ("scaling", "incremental-scaling", "relax") allocate nothing once they have seen rounds of their
 * size. Others allocate when a hub's index or the pool of half-arcs outgrows what it ever held,
 * which gets rare and stays within the memory of mincost_bytes; the pool's compaction takes 8 bytes
 * a node meanwhile, and "auto" gives back what a start from nothing took.
 *
 * The result depends on the sequence of calls only: there is no clock, no random source, no thread,
 * no output and no global state, and every choice between algorithms follows counted work. One
 * object belongs to one thread at a time; distinct objects are independent. No function blocks.
 *
 * Limits, each answered with −ERANGE: numbers 1 … MINCOST_ID_MAX, supplies and the sum of the
 * absolute supplies to ±MINCOST_SUPPLY_MAX, bounds 0 … MINCOST_CAPACITY_MAX, costs to
 * ±MINCOST_COST_MAX, and largest absolute cost × number of nodes < 2⁶⁰ (checked by mincost_solve),
 * since that product bounds every price.
 *
 * Sources: successive shortest paths with potentials (Edmonds, Karp 1972; Tomizawa 1971), cost
 * scaling (Goldberg, Tarjan 1990) by auction (Bertsekas 1988), relaxation (Bertsekas, Tseng 1988)
 * with augmenting paths (Jonker, Volgenant 1987); the incremental use in cluster scheduling follows
 * Sirius (Chen et al.) and Quincy (Isard et al. 2009). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MINCOST_ID_MAX       (1u << 26)
#define MINCOST_CAPACITY_MAX INT64_C(0x7fffffff)
#define MINCOST_SUPPLY_MAX   (INT64_C(1) << 40)
#define MINCOST_COST_MAX     (INT64_C(1) << 40)

struct mincost;

/* What one round did. Counts are exact and the same on every machine. */
struct mincost_stats {
    const char *algorithm;   /* the one whose optimum this is */
    uint64_t changes;        /* calls that changed the problem since the last solve */
    uint64_t searches;       /* shortest-path searches, or pushes of the other algorithms */
    uint64_t arcs_looked_at; /* the unit in which work budgets count */
    uint64_t fallbacks;      /* how often a budget ran out and another algorithm took over */
    uint64_t nodes, arcs;    /* what the problem holds now */
};

/* The state of an optimum, computed from nothing but the problem, the flow and the prices. */
struct mincost_certificate {
    bool bounds;   /* every lower bound and capacity is kept */
    bool balance;  /* every node sends exactly its supply */
    bool optimal;  /* no residual arc has a negative reduced cost */
    bool duality;  /* primal and dual objective are equal, and equal to mincost_cost */
    uint32_t arc;  /* the first arc that breaks a claim, or 0 */
    uint32_t node; /* the first node that breaks balance, or 0 */
};

/* A way to solve. `name` is what mincost_set_algorithm takes. */
struct mincost_algorithm {
    const char *name;
    const char *what; /* one line for people */
    int (*solve)(struct mincost *problem);
};

/* All algorithms, ended by NULL. The first, "auto", chooses among the others by counted state. */
extern const struct mincost_algorithm *const mincost_algorithms[];

/* An empty problem with room for node numbers to `nodes` and arc numbers to `arcs` (hints, may be
 * 0). 0, or −ENOMEM. The caller owns *ret_problem. */
int mincost_create(uint32_t nodes, uint32_t arcs, struct mincost **ret_problem);

/* Frees everything; NULL is allowed. */
void mincost_destroy(struct mincost *problem);

/* Chooses the algorithm of the next rounds by name. 0, or −ENOENT for an unknown name. */
int mincost_set_algorithm(struct mincost *problem, const char *name);

/* Adds node `node`, or sets the supply of the one that is there. A sum of supplies other than 0
 * makes the round infeasible, so they may be out of balance between two calls of mincost_solve. 0,
 * −ERANGE or −ENOMEM. O(1). */
int mincost_set_node(struct mincost *problem, uint32_t node, int64_t supply);

/* Removes a node that has no arcs left. 0, −ENOENT (not there) or −EBUSY (still has arcs). O(1). */
int mincost_remove_node(struct mincost *problem, uint32_t node);

/* Adds arc `arc` from `tail` to `head`, `cost` for each unit. A lower bound above the capacity is
 * accepted and makes the round infeasible. 0, −EEXIST (the number is in use), −ENOENT (an end is
 * not there), −EINVAL (a loop), −ERANGE or −ENOMEM. O(1) amortised. */
int mincost_add_arc(struct mincost *problem, uint32_t arc, uint32_t tail, uint32_t head,
                    int64_t lower, int64_t capacity, int64_t cost);

/* Gives an arc new bounds and cost. 0, −ENOENT, −ERANGE or −ENOMEM (when it is the first cost that
 * takes more than 30 bits: all costs then move to wider places). O(1), but for that move. */
int mincost_modify_arc(struct mincost *problem, uint32_t arc, int64_t lower, int64_t capacity,
                       int64_t cost);

/* Removes an arc. 0 or −ENOENT. O(1). */
int mincost_remove_arc(struct mincost *problem, uint32_t arc);

/* One of the five changes above as a record; a field that its call does not take is ignored. */
enum mincost_change_kind {
    MINCOST_NODE,         /* mincost_set_node: `id`, and the supply as `cost` */
    MINCOST_NODE_GONE,    /* mincost_remove_node: `id` */
    MINCOST_ARC,          /* mincost_add_arc */
    MINCOST_ARC_MODIFIED, /* mincost_modify_arc: `id`, bounds and cost */
    MINCOST_ARC_GONE,     /* mincost_remove_arc: `id` */
};

struct mincost_change {
    enum mincost_change_kind kind;
    uint32_t id, tail, head;
    int64_t lower, capacity, cost;
};

/* Makes `count` changes in order, the same as by their calls one by one but several times sooner
 * when there are many: what a change will touch is asked from memory while those before it are
 * made. Stops at the first that is refused and returns its error; *ret_done (may be NULL) is how
 * many were made. */
int mincost_apply(struct mincost *problem, const struct mincost_change *changes, size_t count,
                  size_t *ret_done);

/* Finds the optimum of the problem as it is now.
 * 0; −EDOM if no flow keeps all bounds: mincost_reason then names a bound that cannot be kept,
 * mincost_flow and mincost_cost stay those of the last optimum, and the next feasible round starts
 * from it; −ERANGE if the costs are too large for this many nodes; −ENOMEM. */
int mincost_solve(struct mincost *problem);

/* The sentence that goes with the last −EDOM or −ERANGE of mincost_solve, without a newline; ""
 * after success. Borrowed until the next call of mincost_solve. */
const char *mincost_reason(const struct mincost *problem);

/* The cost of the last optimum. Beyond 64 bits it is cut to the nearest that fits. O(1). */
int64_t mincost_cost(const struct mincost *problem);

/* The flow on `arc` in the last optimum; 0 for an arc that was not there then or is not there now.
 * O(1). */
int64_t mincost_flow(const struct mincost *problem, uint32_t arc);

/* The arcs whose flow the last successful mincost_solve changed (arcs that came with flow included,
 * removed ones not), in no order of meaning. Borrowed until the next change of the problem. O(1).
 */
const uint32_t *mincost_changed(const struct mincost *problem, size_t *ret_count);

/* Whether the last optimum is the only one among those flows that differ from it in these arcs
 * alone: *ret_unique. The answer depends on the problem, not on which optimum was found. Meaningful
 * only directly after a successful mincost_solve. 0 or −ENOMEM. O(count), almost. */
int mincost_is_unique(struct mincost *problem, const uint32_t *arcs, size_t count,
                      bool *ret_unique);

/* Of the optima that differ in these arcs alone (each is listed once), takes the one whose sum of
 * flow × `second`, a cost for each, is least; *ret_settled: whether only one has that sum, else
 * nothing changes. So two problems that are equal but for their history have the same optimum then.
 * mincost_flow and mincost_changed tell of it. Meaningful only directly after a successful
 * mincost_solve. `second` is within ±MINCOST_COST_MAX, and times twice `count` below 2⁶⁰. 0,
 * −ERANGE or −ENOMEM. O(count), and what it takes to solve those arcs that can carry another
 * amount. */
int mincost_settle(struct mincost *problem, const uint32_t *arcs, const int64_t *second,
                   size_t count, bool *ret_settled);

/* The ends of `arc`. 0 or −ENOENT. O(1). */
int mincost_ends(const struct mincost *problem, uint32_t arc, uint32_t *ret_tail,
                 uint32_t *ret_head);

/* The highest number in use or used before; loops over ids run from 1 to it. */
uint32_t mincost_max_arc(const struct mincost *problem);

/* The last round's figures. */
void mincost_get_stats(const struct mincost *problem, struct mincost_stats *ret_stats);

/* Bytes held from the allocator. O(1). */
size_t mincost_memory_bytes(const struct mincost *problem);

/* Checks the last optimum from scratch; meaningful only directly after a successful mincost_solve.
 * Returns whether all four claims hold. O(nodes + arcs). */
bool mincost_certify(const struct mincost *problem, struct mincost_certificate *ret_certificate);
