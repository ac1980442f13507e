/* Rates: max-min fair inside a level, on what the levels above left.
 *
 * maxmin_solve brings all rates up to date after bundles or flows were added or removed. Level by
 * level it takes the ports whose bundles or capacity changed as a region, fills that region
 * progressively (the port with the least share first), with every bundle bounded by the shares of
 * its ports outside, and looks at those: a port outside that was full and now carries another sum,
 * or is overloaded, joins the region, and the filling is repeated. What remains outside has the
 * same shares as before, what is inside is exact, so the whole is: max-min fair rates are unique,
 * and the condition that defines them (each bundle has a full port on which none is faster) holds
 * everywhere.
 *
 * Cost: the bundles of the final region, a few times. The region never leaves what the change can
 * reach, and stops at ports whose share stays (less urgent flows, other parts of the network, ports
 * with a smaller share). */
#pragma once

struct fluid;

/* Solves at f's present instant. Returns 0 or −ENOMEM. Nothing dirty costs nothing. */
int maxmin_solve(struct fluid *f);
