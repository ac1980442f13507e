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
 * Cost. Of an offer matter the users that have something ready, those that owe, and those whose
 * entries others use; nobody else is looked at, nor has a quota. Where it has fewer entries than
 * there are such users, only theirs who have an entry among them. "O(touched)" below is times log
 * entries.
 *
 * Pure. Each function is O(1) where not said otherwise.
 *
 * Source: Wang, Hong, Feng, "Resource Deployment Strategy for Multi-User Cluster", 2.2. */
#pragma once

#include "controller/engine/share/sequence.h"
#include "controller/engine/share/weights.h"

#include <stdbool.h>

struct offer_user {
    /* Kept between offers, zeros at first. Balances of all sum to 0: owed (+) or owes (−). */
    int64_t balance;
    uint32_t carry; /* debts_due */
    /* As was said. */
    bool idle;     /* offer_idle */
    bool matters;  /* it is not, or it owes */
    uint64_t held; /* offer_hold: offer->holds, else not */
    /* Of this offer; outside of one, and of who is not touched: zeros, and its balance. */
    bool touched;
    int64_t quota; /* entries, and what was paid; offer_close takes those back that were rolled. Of
                      who has nothing ready and owes nothing: only when it is closed */
    int64_t used;
    int64_t paid, before; /* paid to others (−: got); its balance when the offer began, */
    uint32_t carried;     /* and its carry */
};

#define OFFER_DEBT_MAX ((int64_t)1 << 40)

struct offer {
    struct sequence *sequence; /* the caller's */
    struct offer_user *users;  /* as many as the sequence has, in its order */
    uint32_t n;
    uint32_t permille; /* of debts_due, 1…1000 */
    int64_t debt_max;  /* 1…OFFER_DEBT_MAX */
    bool largest;      /* step 4 as in the source */
    int64_t amount, left;
    /* Who is touched; after offer_close and offer_return in the order of users. */
    uint32_t *touched, n_touched;
    bool unordered;
    /* Who matters, in any order, and their places there. */
    uint32_t *matter, n_matter, *matter_at;
    bool open;
    bool counted;          /* quotas are of who matters alone: */
    uint32_t start;        /* from this position on */
    uint64_t holds;        /* 1 and up: what counts as held */
    int64_t *parts;        /* by user, for what is computed in between */
    struct weights wanted; /* what those are owed that have something to run */
};

/* Of n users, with zeros, of a sequence that the caller sets before the first offer, as `permille`,
 * `debt_max` and `largest`. *offer may be anything. 0 or −ENOMEM, then offer_done is still allowed.
 * O(users). */
int offer_init(struct offer *offer, uint32_t n);
void offer_done(struct offer *offer);

/* Between offers: what the user had before. O(log users). */
void offer_set(struct offer *offer, uint32_t user, int64_t balance, uint32_t carry);
/* It has no task ready, or has again: what it owes it pays as far as it can, and gets nothing. Of
 * what is paid in an open offer it is too late. O(log entries). */
void offer_idle(struct offer *offer, uint32_t user, bool idle);
/* Its next task waits on purpose, or does not; until offer_hold_nobody. It counts when an offer is
 * closed. */
void offer_hold(struct offer *offer, uint32_t user, bool held);
void offer_hold_nobody(struct offer *offer);

/* Steps 1 and 2; `amount` ≤ OFFER_DEBT_MAX. O(touched). */
void offer_open(struct offer *offer, uint64_t amount);
/* The open offer is larger by so much, with the entries that come next. O(touched). */
void offer_more(struct offer *offer, uint64_t amount);
/* How much the user may still run by right: its quota less what it used, and at most what is
 * left. */
int64_t offer_room(const struct offer *offer, uint32_t user);
/* What it would be owed if the offer ended now; outside of one: its balance. */
int64_t offer_standing(const struct offer *offer, uint32_t user);
/* The user's next task takes this many (≥ 1): true and charged if it fits. Step 3: its quota. */
bool offer_run(struct offer *offer, uint32_t user, uint64_t size);
/* Step 4: whatever its quota. */
bool offer_lend(struct offer *offer, uint32_t user, uint64_t size);
/* Which next task of these users, in their order, step 4 runs; a size of 0: it has none. The place
 * among them; n: none fits. O(n). */
uint32_t offer_spare(const struct offer *offer, const uint32_t *users, uint32_t n,
                     const uint64_t *sizes);
/* Steps 5 and 6; an offer of which nothing was used leaves nothing behind. Balances and carries are
 * those of after it; the rest of the users stays to be read until offer_forget. O(touched). */
void offer_close(struct offer *offer);
/* What a closed offer touched is touched no more; each that begins an offer does that too.
 * O(touched). */
void offer_forget(struct offer *offer);

/* Puts users in order of their numbers. O(n log n). */
void offer_order(uint32_t *users, uint32_t n);

/* Between offers: something that was charged did not run, or was stopped by us. Its room is offered
 * again, so the sequence goes back by it. `before` are the balances of before. O(touched). */
void offer_return(struct offer *offer, uint32_t user, uint64_t size);
