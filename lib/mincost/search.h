/* One shortest-path search in reduced costs, forward from an excess or backward from a deficit, the
 * flow that it sends and the prices that it moves.
 *
 * The search ends at the nearest counterpart: a node of opposite excess, the sink, which may
 * always stand in for one since its own balance comes out right when all others are, or the depot,
 * if there is one, which takes everything for the time being. Every bound
 * found on the way prunes what lies farther; only nodes nearer than the counterpart get new prices.
 *
 * Requires reduced costs ≥ 0 on residual halves, and keeps them so. Deterministic. */
#pragma once

#include "lib/mincost/graph.h"

/* Brings the excess of `node` to 0. 0, −EDOM if nothing can be reached that would take (or give)
 * it, −ENOMEM, or −EAGAIN when the work budget ran out (the state is then as good as before, only
 * unbalanced). */
int search_from_excess(struct mincost *m, uint32_t node);
int search_from_deficit(struct mincost *m, uint32_t node);
