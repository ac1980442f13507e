/* Rates: max-min fair inside a level, on what the levels above left.
 *
 * A port's *share* is what each flow that it limits gets, infinite while it limits none. A flow
 * gets the least share of its path. The shares are right when each port with a share is full and no
 * other is overloaded: then each flow has a full port on which none is faster, which defines
 * max-min fair rates, and those are unique.
 *
 * maxmin_solve brings them up to date after bundles or flows were added or removed. A port knows
 * its load with the present shares, so a change says in O(1) to which neighbours it matters: not to
 * those with a lesser share, and not to those with none that have room. Ports whose load does not
 * fit wait in a queue by the lesser of the share that they have and the one that they will get.
 * What is less than the first one's is final, since a share depends on lesser ones only: it gets
 * the share at which it is full (exact, by Newton's steps on a concave sum over its row), and tells
 * its neighbours. Tied shares may be held by either port of a path; which one does is left as it
 * is.
 *
 * Cost: rows of the ports whose share changes, about twice to find the share and once to tell; they
 * are seldom changed twice. Nothing is done for ports that only carry flows whose rate changes. It
 * ends, because shares are set in rising order and a fall is final; only a fall of a neighbour
 * makes a second rise possible, so there are at most (ports reached)² changes. */
#pragma once

struct sparse;

/* Solves at the fluid's present instant. Returns 0 or −ENOMEM. Nothing dirty costs nothing. */
int maxmin_solve(struct sparse *net);
