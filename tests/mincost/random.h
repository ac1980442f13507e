/* Small random problems and random changes of them, with everything that can go wrong: lower bounds
 * that cannot be kept, capacities 0, supplies out of balance, parts without connection, numbers
 * used again in the same round, costs of every size and sign. */
#pragma once

#include "tests/mincost/plain.h"

struct random_shape {
    uint32_t nodes, arcs; /* numbers used */
    int64_t largest_cost;
    bool backbone; /* arcs from and to node 1 that are seldom changed, so that most rounds are
                      feasible */
    bool tasks;    /* most nodes only send one unit, as in a scheduler's graph */
};

/* A shape drawn from the stream. */
struct random_shape random_shape_draw(uint64_t *stream);

/* Appends one round's changes to `changes` and applies them to `plain`. The first call makes the
 * problem. */
void random_round(struct plain *plain, const struct random_shape *shape, uint64_t *stream,
                  struct changes *changes);
