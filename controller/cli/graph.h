/* `duopolyctl graph`: the graph by which the placement decides, with its last optimum: as DOT, as
 * DIMACS, as JSON, and as a picture (--svg). */
#pragma once

#include "controller/cli/commands.h"

#include <stdio.h>

int graph_check(const struct request *request, struct err *err);
int run_graph(struct client *client, const struct request *request, struct writer *writer,
              struct err *err);

/* What run_graph has read: all arcs of one optimum. */
struct graph_read {
    duopoly_ArcRow *arcs;
    size_t n, size;
    uint64_t round;
    uint32_t nodes; /* the highest number */
};

/* The sum of flow × cost, and of flow × ranked cost. Beyond 64 bits they are cut. */
int64_t graph_cost(const struct graph_read *read);
int64_t graph_ranked_cost(const struct graph_read *read);
/* By node, from 1: what leaves it less what comes there, which is its supply. The caller frees it;
 * NULL: no memory. */
int64_t *graph_supplies(const struct graph_read *read);

/* Leaves only arcs that start where a task can come: *ret_reached, whose arcs the caller frees. 0,
 * or −ENOMEM. */
int graph_reached(const struct graph_read *read, struct graph_read *ret_reached);

/* The picture: nodes in columns, as far from the sink as their longest way; an arc's width is what
 * it carries. At most GRAPH_PICTURE_ARCS arcs. 0, or −ENOMEM. O(arcs²). */
enum { GRAPH_PICTURE_ARCS = 2000 };
int graph_picture(const struct graph_read *read, FILE *out);
