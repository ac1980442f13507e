/* Weights of users in a fixed order: the sum of all up to one, and who is at a sum. Private to
 * controller/engine.
 *
 * For dealing something out in proportion without a look at those who get nothing. Weights are
 * ≥ 0, and their sum is below 2^63. Pure. Each function is O(log users) where not said otherwise.
 *
 * Source: P. M. Fenwick, "A new data structure for cumulative frequency tables", Software: Practice
 * and Experience 24 (1994). */
#pragma once

#include <stdint.h>

struct weights {
    int64_t *of;   /* by user */
    int64_t *sums; /* by user, of the users up to it whose number, from 1, is in its range */
    uint32_t n;
    int64_t total;
};

/* All 0; *weights may be anything. 0 or −ENOMEM, then weights_done is still allowed. O(users). */
int weights_init(struct weights *weights, uint32_t n);
void weights_done(struct weights *weights);

void weights_set(struct weights *weights, uint32_t user, int64_t weight);
/* Of all users up to this one, with its own. */
int64_t weights_upto(const struct weights *weights, uint32_t user);
/* The first user up to which the sum is at least this; 1 ≤ sum ≤ total. */
uint32_t weights_at(const struct weights *weights, int64_t sum);
