/* Users in order of an amount, largest first: who is first, and who comes after whom. Private to
 * controller/engine.
 *
 * The amount counts as it is, or for the user's share (amount / share, compared exactly). Of equals
 * the first user, by number from 0, comes first. Users are in it or not, and nobody looks at those
 * that are not. Whoever changes amounts often and asks seldom marks them (standings_mark) and
 * places them again before it asks.
 *
 * Pure. Each function is O(log users) where not said otherwise. */
#pragma once

#include "controller/engine/base/sorted.h"

/* Amounts are within ±2^62, shares 1…2^20: those of a turn (sequence.h). */
enum { STANDINGS_SHARE_BITS = 20 };

struct standings {
    uint32_t n;
    bool for_share;
    struct sorted set;
    struct sorted_node *nodes; /* by user */
    uint32_t *marked;          /* users, in order of their marks */
    uint32_t n_marked;
    bool *is_marked; /* by user */
};

/* Nobody is in it; *standings may be anything. 0 or −ENOMEM, then standings_done is still allowed.
 * O(users). */
int standings_init(struct standings *standings, uint32_t n, bool for_share);
void standings_done(struct standings *standings);

/* The user is in it with this amount; `share` counts only where that is said. O(1) where it passes
 * nobody. */
void standings_place(struct standings *standings, uint32_t user, int64_t amount, uint32_t share);
/* It is not, or is no more. */
void standings_remove(struct standings *standings, uint32_t user);

/* The number of users: nobody is in it. O(1). */
uint32_t standings_first(const struct standings *standings);
/* The next after a user that is in it; the number of users: it is the last. */
uint32_t standings_after(const struct standings *standings, uint32_t user);

/* Whether both are in it, with equal amounts. O(1). */
bool standings_are_equal(const struct standings *standings, uint32_t a, uint32_t b);

/* It is to be placed again. O(1). */
void standings_mark(struct standings *standings, uint32_t user);
/* One that was marked, and is not any more; the number of users: none. O(1). */
uint32_t standings_take_marked(struct standings *standings);
