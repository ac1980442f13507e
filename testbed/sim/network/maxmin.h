/* Rates: max-min fair inside a level, on what the levels above leave.
 *
 * A port's *share* is what each flow that it limits gets, infinite while it limits none. A flow
 * gets the least share of its path. The shares are right when each port with a share is full and no
 * other is overloaded: then each flow has a full port on which none is faster, which defines
 * max-min fair rates, and those are unique.
 *
 * maxmin_solve updates them after bundles or flows were added or removed. A port knows its load
 * with the present shares and which of its bundles it limits, so O(1) tells which neighbours a
 * change concerns: not those with a lesser share, and not those without a share that have room.
 * Ports whose load does not fit wait in a queue by the lesser of their present and their future
 * share. Shares less than the first one's are final, since a share depends on lesser ones only: the
 * first port gets the share at which it is full, and tells its neighbours. Mostly the bundles that
 * it limits stay the same, then that share is a division; else it is found exactly, by Newton's
 * steps on a concave sum over its row. Either port of a path may hold a tied share; which one does
 * is not changed.
 *
 * About half of all neighbours are far from full, and their load is not needed: no level below
 * needs what they leave, and no uplink turns hot or cool by it. These are *quiet*. They use a
 * ceiling of each neighbour's share, which bounds their load from above and, times CEILING_LEAST,
 * from below, and are told when a ceiling moves. When the bound of a quiet port no longer fits, it
 * wakes: it adds up its load and is told every change, until it was told so often without limiting
 * any flow that resting pays. So no rate depends on which ports are quiet.
 *
 * Cost: the bundles that the changed ports limit; a share seldom changes twice. Whole rows are read
 * only where a share passes a neighbour's, and sometimes to add up loads again. Nothing is done for
 * ports that only carry flows whose rate changes. It ends, because shares are set in rising order
 * and a fall is final; only a fall of a neighbour makes a second rise possible, so there are at
 * most (ports reached)² changes. */
#pragma once

struct sparse;

/* Solves at the fluid's present instant. 0 or −ENOMEM. Without dirty ports it costs nothing. */
int maxmin_solve(struct sparse *net);
