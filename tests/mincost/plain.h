/* A minimum-cost flow problem as plain tables, and the changes between two rounds as records. It is
 * what generators write and what the library under test, LEMON and files are fed from, so that all
 * see the same problem. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/mincost/mincost.h"

#ifdef __cplusplus
extern "C" {
#endif

struct changes {
    struct mincost_change *items;
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
void changes_add(struct changes *changes, struct mincost_change change);

void plain_apply(struct plain *plain, const struct mincost_change *change);
void plain_done(struct plain *plain);

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
