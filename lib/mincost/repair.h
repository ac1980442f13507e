/* Before every search: makes prices fit the changed problem, and flow fit the prices.
 *
 * A changed task is given a price that none of its residual halves contradicts, where there is one:
 * then nothing else happens, however much its costs moved. Where there is none, its unit is taken
 * back and both ends become unbalanced. A new machine is priced as if its slots were worth nothing,
 * so that they start as deficits which tasks are searched for, one by one, instead of drawing in
 * more tasks than fit.
 *
 * Afterwards every residual half has a reduced cost ≥ 0, and each node whose excess is not 0 is on
 * the list of unbalanced nodes. */
#pragma once

#include "lib/mincost/graph.h"

/* Chooses the sink again if the former one is gone or outgrown. */
void repair_elect_sink(struct mincost *m);

/* Works off the dirty lists. O(degrees of the dirty nodes + dirty arcs); where many arcs that carry
 * something and could carry more have another cost, also what is priced again: O(arcs) at most. */
void repair_after_changes(struct mincost *m);

/* Forgets flow and prices: the least flow, and prices that are distances to the sink where the
 * problem has layers. O(nodes + arcs). */
void repair_from_nothing(struct mincost *m);

/* Makes flow fit the prices there are, over all arcs. O(arcs). */
void repair_all_arcs(struct mincost *m);

/* Empties the dirty lists: an algorithm has looked at everything. */
void repair_forget_changes(struct mincost *m);
