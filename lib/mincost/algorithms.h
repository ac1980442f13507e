/* The ways to solve, and what they share.
 *
 * Each function below takes the problem as the changes left it (dirty lists, unbalanced nodes) and
 * returns 0 with an optimum, −EDOM with the reason set when there is none, or −ENOMEM. After −EDOM
 * flow and prices are such that a later round can go on from them: reduced costs ≥ 0 wherever flow
 * may be sent, excesses as they are. */
#pragma once

#include "lib/mincost/graph.h"

/* Chooses by counted state among the ones below (choose.c says how). */
int algorithm_auto(struct mincost *m);

/* Warm successive shortest paths from kept flow and prices: deficits before excesses. */
int algorithm_incremental(struct mincost *m);

/* Successive shortest paths from nothing. */
int algorithm_paths(struct mincost *m);

/* Cost scaling from nothing. */
int algorithm_scaling(struct mincost *m);

/* Cost scaling from the last flow and prices, with epsilon from the worst violation: the source's
 * algorithm. */
int algorithm_incremental_scaling(struct mincost *m);

/* Relaxation from nothing. */
int algorithm_relax(struct mincost *m);

/* Brings all excesses to 0 by searches, deficits first. As above, and −EAGAIN when the work budget
 * ran out. */
int paths_balance(struct mincost *m);

/* Drops the balanced nodes from the list of unbalanced ones. */
void paths_forget_balanced(struct mincost *m);

/* The sentence for a search that found no counterpart for `node`; uses the labels of that search.
 */
void witness_search(struct mincost *m, uint32_t node);

/* The same for an excess that a market holds, not the problem. */
void witness_excess(struct mincost *m, uint32_t node, int64_t amount);
void witness_supplies(struct mincost *m);
void witness_crossed(struct mincost *m);
