/* A minimum-cost flow problem as plain tables, and the changes between two rounds as records. It is
 * what generators write and what the library under test, LEMON and files are fed from, so that all
 * see the same problem. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct mincost;

#ifdef __cplusplus
extern "C" {
#endif

enum change_kind {
    CHANGE_NODE,
    CHANGE_NODE_GONE,
    CHANGE_ARC,
    CHANGE_ARC_MODIFIED,
    CHANGE_ARC_GONE
};

struct change {
    enum change_kind kind;
    uint32_t id, tail, head;
    int64_t lower, capacity, cost; /* CHANGE_NODE: `cost` is the supply */
};

struct changes {
    struct change *items;
    size_t count, room;
};

struct plain_arc {
    uint32_t tail, head; /* tail 0 = the number is not in use */
    int64_t lower, capacity, cost;
};

struct plain {
    struct plain_arc *arcs; /* by number, from 1 */
    int64_t *supply;
    bool *node_there;
    uint32_t max_arc, max_node, arcs_room, nodes_room;
};

/* Appends; aborts when memory is short, as all of this test code does. */
void changes_add(struct changes *changes, struct change change);

void plain_apply(struct plain *plain, const struct change *change);
void plain_done(struct plain *plain);

/* Feeds one change to the library; returns its answer. */
int change_apply(struct mincost *problem, const struct change *change);

/* Writes the problem as DIMACS text, arcs renumbered in order of their numbers, or the changes as
 * lines of --changes. */
void plain_write_dimacs(const struct plain *plain, FILE *file);
void changes_write(const struct changes *changes, FILE *file);

/* The problem solved by LEMON. `ret_cost` is set when feasible; `ret_cpu_ns` is the time of its
 * run() alone. */
enum lemon_solver { LEMON_NETWORK_SIMPLEX, LEMON_COST_SCALING };
bool lemon_solve(const struct plain *plain, enum lemon_solver solver, int64_t *ret_cost,
                 int64_t *ret_cpu_ns);

/* CPU time of this thread. */
int64_t cpu_now_ns(void);

#ifdef __cplusplus
}
#endif
