/* Moves tasks and units through a market (market.h): prices rise where too much wants to be.
 *
 * With slack ε every residual way keeps a reduced cost ≥ −ε; with ε = 0 the flow is optimal for
 * what it carries. Prices only rise, so the keys of crowds stay lower bounds. */
#pragma once

#include "lib/mincost/market.h"

/* Sends back what keeps no reduced cost ≥ −epsilon at today's prices. O(links + tasks moved). */
void auction_tighten(struct market *market, int64_t epsilon);

/* Lets places with excess raise their prices and send it away, in at most `moves` steps (> 0). True
 * when none is left. O(moves × (choices of a task + log of its crowd)). */
bool auction_run(struct market *market, int64_t epsilon, uint64_t moves);

/* Brings each excess that is left to a deficit on a shortest path. False when that cannot be:
 * market->infeasible or overflow say so, else the work budget ran out or memory is short. */
bool auction_augment(struct market *market);
