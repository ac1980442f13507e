/* What each user may run of an offer, by the sequence and by what users owe each other: the six
 * steps of requested amounts. Private to controller/engine.
 *
 * One offer of `amount` granules:
 *   1. Each user's quota is its number of the next `amount` entries of the sequence.
 *   2. Its balance is added: a user that owes pays out of its quota (debts_due), those that are
 *      owed and have something to run get that in proportion to what they are owed.
 *   3. Each user runs its tasks in order as long as they fit its quota.
 *   4. What is left is lent: of the users' next tasks that fit that of the user with most left to
 *      it for its share, again and again. The source runs the largest that fits (`largest`), which
 *      lends to whoever has large tasks: with tasks of 5 to 40 MB shares are then off by 2.5 points
 *      of the whole, else by .5 (make bench-fairness, memory).
 *   5. The position goes back by what is still left; entries rolled over leave their user's quota.
 *   6. A user's balance becomes its quota less what it used. Balances sum to 0.
 *
 * What is a loan: a user's entries that others used, whether it had no task ready or its next one
 * was larger than what was left. A user whose next task the placement *holds* on purpose lends
 * nothing: its entries count as rolled back, and those that used them owe nobody.
 *
 * How large a balance gets. Nothing bounds it by itself: a user whose tasks are larger than every
 * offer is owed its whole share for ever. So there is a rule: nobody comes to owe more than
 * `debt_max` by an offer; what is lent beyond that is given, and those who gave it are owed so much
 * less, in proportion. So with n users each balance stays in −debt_max … (n − 1)·debt_max: no debt
 * is larger, and what one user is owed the others owe. A debt that is larger already (the bound
 * became smaller) only shrinks.
 *
 * With nobody held, the share of a user with work is right up to its balance: whatever it used is
 * its entries less its balance. Fairness is measured in granules; where what counts is granules ×
 * time, the caller offers granule-seconds as they pass.
 *
 * Pure; it owns nothing. Each function is O(1) where not said otherwise.
 *
 * Source: Wang, Hong, Feng, "Resource Deployment Strategy for Multi-User Cluster", 2.2. */
#pragma once

#include "controller/engine/share/sequence.h"

#include <stdbool.h>

struct offer_user {
    /* Kept between offers, zeros at first. Balances of all sum to 0: owed (+) or owes (−). */
    int64_t balance;
    uint32_t carry; /* debts_due */
    /* Said before each offer. */
    bool idle; /* it has no task ready: what it owes it pays as far as it can, and gets nothing */
    bool held; /* its next task waits on purpose; may also be said until offer_close */
    /* Of this offer. */
    int64_t quota; /* entries, and what was paid; offer_close takes those back that were rolled */
    int64_t used;
    int64_t paid, before; /* paid to others (−: got); its balance when the offer began, */
    uint32_t carried;     /* and its carry */
};

#define OFFER_DEBT_MAX ((int64_t)1 << 40)

struct offer {
    struct sequence *sequence;
    struct offer_user *users; /* as many as the sequence has, in its order */
    int64_t *parts;           /* as many, for what is computed in between */
    uint32_t n;
    uint32_t permille; /* of debts_due, 1…1000 */
    int64_t debt_max;  /* 1…OFFER_DEBT_MAX */
    bool largest;      /* step 4 as in the source */
    int64_t amount, left;
};

/* Steps 1 and 2; `amount` ≤ OFFER_DEBT_MAX. O(users). */
void offer_open(struct offer *offer, uint64_t amount);
/* The open offer is larger by so much, with the entries that come next. O(users). */
void offer_more(struct offer *offer, uint64_t amount);
/* How much the user may still run by right: its quota less what it used, and at most what is
 * left. */
int64_t offer_room(const struct offer *offer, uint32_t user);
/* The user's next task takes this many (≥ 1): true and charged if it fits. Step 3: its quota. */
bool offer_run(struct offer *offer, uint32_t user, uint64_t size);
/* Step 4: whatever its quota. */
bool offer_lend(struct offer *offer, uint32_t user, uint64_t size);
/* Which of these next tasks step 4 runs; 0: the user has none. The number of users: none fits.
 * O(users). */
uint32_t offer_spare(const struct offer *offer, const uint64_t *sizes);
/* Steps 5 and 6; an offer of which nothing was used leaves nothing behind. O(users). */
void offer_close(struct offer *offer);

/* Between offers: something that was charged did not run, or was stopped by us. Its room is offered
 * again, so the sequence goes back by it. O(users). */
void offer_return(struct offer *offer, uint32_t user, uint64_t size);
