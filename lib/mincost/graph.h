/* The problem as the algorithms see it: nodes, arcs, and for each node its half-arcs, those that
 * matter first.
 *
 * An arc from u to v is two *halves*: one at u with head v and the arc's cost, one at v with head u
 * and the cost's negative. A half is residual when flow may still be sent over it towards its head;
 * its *mate* is the other half. The halves of a node lie side by side in one block of the pool, in
 * four groups:
 *
 *     [ residual, mate not | both | mate residual only | neither ]
 *       0 … end[0]           … end[1]  … end[2]              … end[3]
 *
 * so that a search along the flow looks at the first two groups and one against it at the middle
 * two. A task of which one arc of ten carries its unit shows a machine only that one. Sending flow
 * moves halves between groups by swaps.
 *
 * Reduced cost of a half from u to w: cost − price[u] + price[w], which is ≥ 0 on residual halves
 * of an optimum. A price thus reads as the distance to the sink.
 *
 * Between rounds the flow is optimal for what it carries, and excess[v] = supply + inflow − outflow
 * is what an algorithm has to bring to 0.
 *
 * Internal to this folder. 12 bytes a half, 25 an arc, 76 a node, and blocks that are on average
 * less than a tenth larger than filled. Prices and distances have 64 bits everywhere, so that only
 * single costs must fit into the 32 bits of a half. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/mincost/dial.h"
#include "lib/mincost/memory.h"
#include "lib/mincost/mincost.h"
#include "lib/mincost/queue.h"

#define NO_PRICE (-(INT64_C(1) << 61)) /* a new node, not priced yet: constrains no other */
#define NO_ARC   0u

enum half_bits {
    HALF_AT_HEAD = 1,       /* this is the half at the arc's head: its cost is the negative one */
    HALF_RESIDUAL = 2,      /* flow may be sent over it */
    HALF_MATE_RESIDUAL = 4, /* flow may be sent over its mate */
    HALF_TO_HUB = 8,        /* of an arc from a task to a hub (hubs.h) */
    HALF_ARC_SHIFT = 4,
};

struct half {
    int32_t near_cost; /* meaningless where costs are wide: use half_cost */
    uint32_t head;
    uint32_t ref; /* arc number << HALF_ARC_SHIFT | half_bits */
};

enum arc_bits {
    ARC_PRESENT = 1,
    ARC_TOUCHED =
        2, /* `kept` holds the flow of the last optimum, and the arc is on the touched list */
    ARC_DIRTY = 4,   /* on the list of arcs whose reduced cost must be looked at */
    ARC_CROSSED = 8, /* its lower bound was above its capacity, and counts as equal to it */
};

struct arc {
    uint32_t pos[2]; /* pool index of the half at the tail and of the one at the head */
    int32_t flow, lower, capacity;
    int32_t kept;
};

enum node_bits {
    NODE_PRESENT = 1,
    NODE_DIRTY = 2,      /* on the list of nodes to price again */
    NODE_UNBALANCED = 4, /* on the list of nodes whose excess may not be 0 */
};

struct node {
    uint32_t start;     /* of its block in the pool */
    uint32_t end[4];    /* group ends, from `start`; end[3] is the number of halves */
    uint32_t in_arcs;   /* how many of them are at the arc's head */
    uint8_t size_class; /* of the block */
    uint8_t bits;
    uint16_t hub; /* index of its hub + 1, or 0 (hubs.h) */
};

/* A search's data on a node; valid only where `stamp` is the search's own. */
struct label {
    int64_t distance;
    uint32_t via; /* arc << 1 | which half, by which the search came */
    uint32_t stamp;
};

struct mincost {
    struct half *halves;
    uint32_t halves_used, halves_allocated, halves_free;
    uint32_t free_block[SIZE_CLASSES]; /* head of each list of free blocks, + 1 */

    struct arc *arcs;
    uint8_t *arc_bits;
    int64_t *wide_cost; /* by arc; NULL until it was needed */
    bool wide;          /* costs stand there, since one of them is too large for 32 bits */
    uint32_t arcs_allocated, max_arc, arc_count;

    struct node *nodes;
    int64_t *price, *excess, *supply;
    int64_t *posted; /* the price that hubs know a task to be below (hubs.h) */
    struct label *labels;
    uint32_t nodes_allocated, max_node, node_count;

    bool elect;         /* the sink must be chosen again */
    uint32_t sink;      /* the node with the largest demand: a counterpart that is always at hand */
    int64_t supply_sum; /* of all nodes; 0 when balanced */
    int64_t supply_absolute;
    uint32_t sources;        /* nodes with a supply above 0 */
    uint32_t crossed_arcs;   /* arcs whose lower bound is above the capacity */
    uint64_t costs_at[42];   /* how many arcs have an absolute cost of that many bits */
    __int128 cost;           /* of the working flow */
    int64_t cost_of_optimum; /* of the last optimum, cut to 64 bits */

    struct u32_list touched, dirty_arcs, dirty_nodes, unbalanced;
    struct u32_list stack, settled;
    struct queue queue;
    struct dial dial;
    uint32_t stamp;
    uint64_t work, work_budget; /* halves looked at in this round; 0 = no budget */
    uint64_t searches;

    struct market *market; /* the copy that algorithms from nothing work on (market.h), or NULL */
    struct hub *hubs;
    uint32_t hub_count, hub_allocated;
    uint32_t depot; /* a hub at which searches may leave what they carry, or NO_NODE (paths.c) */
    unsigned key_shift;
    int64_t post_ahead;
    bool hubs_stale;  /* one must be rebuilt before the next search */
    bool hubs_wanted; /* a node may have become one */

    int failed;   /* −ENOMEM once a list could not grow inside an algorithm */
    bool bulky;   /* the list of touched arcs has the room that a start from nothing took */
    bool solved;  /* there was an optimum before */
    bool pending; /* something changed since the last optimum */
    const struct mincost_algorithm *algorithm;
    struct mincost_stats stats;
    uint64_t changes;
    uint64_t scratch_work; /* what cost scaling last looked at; 0 = not used yet */
    size_t bytes;
    char reason[256];
};

static inline uint32_t half_arc(const struct half *half)
{
    return half->ref >> HALF_ARC_SHIFT;
}

static inline uint32_t node_degree(const struct node *node)
{
    return node->end[3];
}

/* A node that only sends: a task. Its price follows from its neighbours'. */
static inline bool node_is_leaf(const struct node *node)
{
    return node->in_arcs == 0;
}

static inline bool arc_is_present(const struct mincost *m, uint32_t arc)
{
    return arc >= 1 && arc <= m->max_arc && (m->arc_bits[arc] & ARC_PRESENT);
}

static inline bool node_is_present(const struct mincost *m, uint32_t node)
{
    return node >= 1 && node <= m->max_node && (m->nodes[node].bits & NODE_PRESENT);
}

static inline uint32_t arc_tail(const struct mincost *m, uint32_t arc)
{
    return m->halves[m->arcs[arc].pos[1]].head;
}

static inline uint32_t arc_head(const struct mincost *m, uint32_t arc)
{
    return m->halves[m->arcs[arc].pos[0]].head;
}

/* The cost of a unit over the half. */
static inline int64_t half_cost(const struct mincost *m, const struct half *half)
{
    if (__builtin_expect(!m->wide, 1))
        return half->near_cost;
    int64_t cost = m->wide_cost[half_arc(half)];
    return half->ref & HALF_AT_HEAD ? -cost : cost;
}

static inline int64_t arc_cost(const struct mincost *m, uint32_t arc)
{
    return m->wide ? m->wide_cost[arc] : m->halves[m->arcs[arc].pos[0]].near_cost;
}

/* How many bits |cost| has: index into costs_at. */
static inline unsigned cost_bits(int64_t cost)
{
    return cost ? 64u - (unsigned)__builtin_clzll((uint64_t)(cost < 0 ? -cost : cost)) : 0;
}

static inline int64_t arc_reduced_cost(const struct mincost *m, uint32_t arc)
{
    return arc_cost(m, arc) - m->price[arc_tail(m, arc)] + m->price[arc_head(m, arc)];
}

/* It can carry another amount at the same cost, if that closes a cycle of such arcs. */
static inline bool arc_is_tight(const struct mincost *m, uint32_t arc)
{
    return arc_is_present(m, arc) && arc_reduced_cost(m, arc) == 0;
}

/* How much can still be sent over a half: side 0 is the one at the tail. */
static inline int64_t arc_residual(const struct arc *arc, uint32_t side)
{
    return side ? (int64_t)arc->flow - arc->lower : (int64_t)arc->capacity - arc->flow;
}

/* Asks for what a search reads of a node, some time before it does. WHY always inline, as whatever
 * only prefetches must be: gcc takes such a function for one without effect and drops its calls. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void graph_prefetch_node(const struct mincost *m, uint32_t node)
{
    __builtin_prefetch(&m->nodes[node].start);
    __builtin_prefetch(&m->nodes[node].bits); /* often in the next line */
}

ALWAYS_INLINE void graph_prefetch_arc(const struct mincost *m, uint32_t arc)
{
    __builtin_prefetch(&m->arcs[arc].pos[0]);
    __builtin_prefetch(&m->arcs[arc].kept);
}

ALWAYS_INLINE void graph_prefetch_halves(const struct mincost *m, uint32_t node)
{
    const char *halves = (const char *)(m->halves + m->nodes[node].start);
    for (int line = 0; line < 3; line++)
        __builtin_prefetch(halves + line * 64);
}

/* Tables. 0 or −ENOMEM. */
int graph_reserve_nodes(struct mincost *m, uint32_t highest);
int graph_reserve_arcs(struct mincost *m, uint32_t highest);

/* Makes room for a cost of this size: halves hold costs of up to COST_NEAR_BITS bits; from the
 * first larger one on, all stand in a table of their own, until graph_narrow_costs finds no larger
 * one left. 0 or −ENOMEM. O(1), or O(arcs) when the limit is crossed. */
enum { COST_NEAR_BITS = 30 };
int graph_fit_cost(struct mincost *m, int64_t cost);
void graph_narrow_costs(struct mincost *m);

/* Sets the cost of an arc that is attached; one that fits. */
void graph_set_cost(struct mincost *m, uint32_t arc, int64_t cost);

/* Puts both halves of `arc` (bounds and flow set) into their blocks, or takes them out. 0 or
 * −ENOMEM. */
int graph_attach(struct mincost *m, uint32_t arc, uint32_t tail, uint32_t head, int64_t cost);
void graph_detach(struct mincost *m, uint32_t arc);

/* Sets the bits of both halves after flow or bounds changed, and moves them to their groups. */
void graph_refresh(struct mincost *m, uint32_t arc);

/* Sends `amount` over a half. Keeps excesses, cost, groups and the touched list. */
void graph_push(struct mincost *m, uint32_t arc, uint32_t side, int64_t amount);

/* Remembers the flow of the last optimum before it is changed. */
void graph_touch(struct mincost *m, uint32_t arc);

/* In solve.c: keeps, of the arcs that were touched, those whose flow is another in the end. */
void graph_keep_changed(struct mincost *m);

void graph_mark_node_dirty(struct mincost *m, uint32_t node);
void graph_mark_arc_dirty(struct mincost *m, uint32_t arc);
void graph_mark_unbalanced(struct mincost *m, uint32_t node);
