/* Rates: max-min fair inside a level, on what the levels above left.
 *
 * maxmin_solve brings all rates up to date after bundles or flows were added or removed. Level by
 * level it takes the ports whose bundles or capacity changed as a region and fills it progressively
 * (the port with the least share first). Ports outside stand in the same order with the shares that
 * they have, which bound the region's bundles. A port outside joins as soon as a bundle of it gets
 * another rate than before, if it was full, or if it would carry too much. One that joins when the
 * filling is past its share came too late: the filling starts anew with it (about one in four
 * does). What remains outside has the same shares as before, what is inside is exact, so the whole
 * is: max-min fair rates are unique, and the condition that defines them (each bundle has a full
 * port on which none is faster) holds everywhere.
 *
 * Cost: the bundles of the final region and of the ports that bound it, a few times. The region
 * never leaves what the change can reach, and stops at ports whose share stays (less urgent flows,
 * other parts of the network, ports with a smaller share). */
#pragma once

struct sparse;

/* Solves at the fluid's present instant. Returns 0 or −ENOMEM. Nothing dirty costs nothing. */
int maxmin_solve(struct sparse *net);
