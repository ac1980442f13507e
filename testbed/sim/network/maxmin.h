/* Rates: max-min fair inside a level, on what the levels above left.
 *
 * A port's *share* is what each flow that it limits gets, infinite while it limits none. A flow
 * gets the least share of its path. The shares are right when each port with a share is full and no
 * other is overloaded: then each flow has a full port on which none is faster, which defines
 * max-min fair rates, and those are unique.
 *
 * maxmin_solve brings them up to date after bundles or flows were added or removed. A port knows
 * its load with the present shares and which of its bundles it limits, so a change says in O(1) to
 * which neighbours it matters: not to those with a lesser share, and not to those with none that
 * have room. Ports whose load does not fit wait in a queue by the lesser of the share that they
 * have and the one that they will get. What is less than the first one's is final, since a share
 * depends on lesser ones only: it gets the share at which it is full, and tells its neighbours.
 * Mostly the bundles that it limits stay the same, then that share is a division; else it is found
 * exactly, by Newton's steps on a concave sum over its row. Tied shares may be held by either port
 * of a path; which one does is left as it is.
 *
 * About half of all neighbours are far from full, and their load is not needed: no level below
 * needs what they leave, and no uplink turns hot or cool by it. These are *quiet*. They count with
 * a ceiling of each neighbour's share, which bounds their load from above and, times CEILING_LEAST,
 * from below, and are told when a ceiling moves. One whose bound does not fit any more is woken: it
 * adds up its load and is told everything, until it was told so often without limiting any flow
 * that resting pays. So no rate depends on which ports are quiet.
 *
 * Cost: of the ports whose share changes, the bundles that they limit; they are seldom changed
 * twice. Whole rows are read only where a share passes a neighbour's, and once in a while to add up
 * loads anew. Nothing is done for ports that only carry flows whose rate changes. It ends, because
 * shares are set in rising order and a fall is final; only a fall of a neighbour makes a second
 * rise possible, so there are at most (ports reached)² changes. */
#pragma once

struct sparse;

/* Solves at the fluid's present instant. Returns 0 or −ENOMEM. Nothing dirty costs nothing. */
int maxmin_solve(struct sparse *net);
