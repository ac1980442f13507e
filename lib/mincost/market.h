/* The problem as the algorithms that start from nothing see it: a dense copy without the tasks.
 *
 * A task is a node that no arc enters and that sends one unit: it takes exactly one of its arcs.
 * All other nodes are *places* and have prices. A task needs none: it goes where cost + price is
 * least, so only the places take part in the search for prices, and a scheduler's graph of 160 000
 * nodes becomes one of 14 000 whose prices fit the second-level cache. Two ways lead out of a
 * place: *links* (arcs between places, both directions, with what can still be sent) and *tasks*
 * that stand there and could take another of their arcs.
 *
 * The tasks at a place form its crowd, a pairing heap by `key`: the price of the place at which the
 * task would rather go elsewhere, or less. Prices of other places only rise while a market lives,
 * so a key that was true once is a lower bound for ever, and is looked at again only when it comes
 * to the top. The heap's links lie in the tasks: a crowd of any size takes no memory of its own.
 *
 * Reduced cost of a way out of place p to place q: cost − price[p] + price[q]; a task's move from
 * choice c to d costs cost[d] − cost[c]. Costs here are those of the problem times `unit`.
 *
 * market_open copies, market_close brings flow and prices back; in between the problem is not
 * touched. The tables stay until market_done. 40 bytes a task, 8 a choice (16 where costs times
 * unit need more than 31 bits), 60 a place, 48 an arc between places.
 *
 * Sources: Bertsekas's auction algorithm for assignment and transportation (1988), the pairing
 * heap of Fredman, Sedgewick, Sleator and Tarjan (1986). */
#pragma once

#include "lib/mincost/graph.h"

#define NOBODY    UINT32_MAX
#define NO_WAY    (INT64_C(1) << 62) /* a value that no exit has */
#define PRICE_MAX (INT64_C(1) << 60)

struct choice {
    int32_t cost;
    uint32_t place;
};

struct wide_choice {
    int64_t cost;
    uint32_t place;
};

struct market_task {
    int64_t key;
    uint32_t child, next, prev; /* in the crowd: tasks, or NOBODY; prev of a first child: parent */
    uint32_t first;             /* its choices, up to `first` of the next task */
    uint32_t at;                /* the choice taken */
    uint32_t seen;              /* stamp of the search that looked at it last */
    uint32_t node;
};

struct link {
    int64_t cost;
    uint32_t place, mate;
    int32_t residual;
    uint32_t via; /* arc << 1 | side */
};

struct place {
    int64_t excess;
    uint32_t node;
    uint32_t first;   /* its links, up to `first` of the next place */
    uint32_t current; /* the link to look at next */
    uint32_t crowd;   /* top task, or NOBODY */
    bool listed;      /* on the ring */
    uint32_t seen;    /* stamp of the search that knows the three below */
    uint32_t task;    /* that comes here from before, or NOBODY: over a link */
    uint32_t via;     /* its choice, or the link */
    int64_t distance;
};

struct market {
    struct mincost *m;
    int64_t unit, largest_cost; /* in its units, rounded up to a power of two */
    int64_t shift;              /* what market_close adds to prices before it cuts them */
    bool wide, warm;
    uint32_t place_count, task_count, link_count, choice_count;
    int64_t *price;
    struct place *places;
    struct link *links;
    struct market_task *tasks;
    struct choice *choices;
    struct wide_choice *wide_choices;
    uint32_t *index; /* of a node: its place or task */
    uint32_t *ring, ring_first, ring_count;
    uint32_t places_allocated, links_allocated, tasks_allocated, choices_allocated, wide_allocated,
        index_allocated;
    uint32_t stuck_task;  /* has no choice at all, or NOBODY */
    uint32_t stuck_place; /* where an excess has no way to a deficit, when infeasible */
    bool infeasible;      /* the last search says so */
    bool overflow;        /* prices grew beyond what can be added up */
};

/* A task's best choice beside the one it has taken. */
struct offer {
    int64_t value;  /* cost + price there; NO_WAY when there is none */
    int64_t second; /* the same of the next best */
    uint32_t choice;
};

/* Copies the problem as it is now. `warm` keeps flow and prices; else flow is the least and prices
 * are 0, less where a deficit has to attract tasks. `fine` counts costs in units of 1 ∕ (places +
 * 1), else they stay whole. Each task that has a choice stands at one. 0 or −ENOMEM.
 * O(nodes + arcs). */
int market_open(struct mincost *m, bool fine, bool warm, struct market **ret_market);

/* Finds the shift with which whole prices fit a flow that is `epsilon`-optimal, and sets it. Such a
 * price differs from its neighbour's by too much only where the two fall on either side of a whole
 * number that lies less than epsilon below one; so a gap of epsilon between the fractions of all
 * prices is where to cut, and a flow that leaves one is optimal. There is one when epsilon × places
 * < unit. O(places + unit), and no shift for units above places + 1. */
bool market_find_shift(struct market *market, int64_t epsilon);

/* Brings flow and whole prices back: excesses 0, every residual half's reduced cost ≥ 0. For a flow
 * without excess of which market_find_shift said true. O(nodes + arcs). */
void market_close(struct market *market);

/* Says why there is no flow: the sentence, and −EDOM. The problem stays as it was. */
int market_refuse(struct market *market);

void market_done(struct mincost *m);

static inline uint32_t task_choices_end(const struct market *market, uint32_t task)
{
    return market->tasks[task + 1].first;
}

static inline int64_t choice_cost(const struct market *market, uint32_t choice)
{
    return market->wide ? market->wide_choices[choice].cost : market->choices[choice].cost;
}

static inline uint32_t choice_place(const struct market *market, uint32_t choice)
{
    return market->wide ? market->wide_choices[choice].place : market->choices[choice].place;
}

/* Looks at all choices of a task but the one taken. O(choices). */
struct offer task_look(struct market *market, uint32_t task);

/* Puts a task that stands nowhere at `choice`, with the value of its best other one. */
void task_stand(struct market *market, uint32_t task, uint32_t choice, int64_t other);

/* Takes a task out of the crowd where it stands. */
void task_leave(struct market *market, uint32_t task);

/* The task of a crowd that would leave first, with its true key and its offer; NOBODY when the
 * crowd is empty. Amortised O(log crowd) looks. */
uint32_t crowd_top(struct market *market, uint32_t place, struct offer *ret_offer);

/* Raises the key of a task anywhere in its crowd. */
void crowd_raise(struct market *market, uint32_t task, int64_t key);
