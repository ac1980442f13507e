/* The turn of a sequence, and what users owe each other: what the policies by sequence keep.
 * Private to controller/engine/users.
 *
 * Made from the engine's users, position and debts, and written back to them by turns_settle, so
 * that those outlive a change of policy. */
#pragma once

#include "controller/engine/books/users.h"
#include "controller/engine/policy/policy.h"
#include "controller/engine/share/offer.h"

/* What a user had of the last offer that was closed: after = before + places − used + given. */
struct turns_part {
    int64_t before, after;       /* balances */
    int64_t places, paid, quota; /* its entries, less those rolled over = paid + quota */
    int64_t used;
};

struct turns {
    struct offer offer;
    struct user **who;        /* in order of their numbers, as in the offer */
    uint64_t *sizes;          /* as many, for the caller */
    struct turns_part *parts; /* as many; zeros before the first offer */
    int64_t closed;           /* granules of the last offer */
};

extern const struct engine_parameter parameter_even, parameter_debt_max;

/* Anew, of the users that there are; it may be zeroed. O(entries · log users). */
void turns_build(struct engine *engine, struct turns *turns, uint32_t repay_permille);
void turns_done(struct turns *turns);
/* The user's place in it; a known one's. O(log users). */
uint32_t turns_index(const struct turns *turns, const struct user *user);
/* Closes the open offer (offer_close). O(users). */
void turns_close(struct turns *turns);
/* How the user stands, behind other words: who waits before it, what it had of the last offer, and
 * its balance. O(entries). */
void turns_explain(const struct turns *turns, const struct user *user,
                   struct engine_explanation *e);
/* An offer was closed, or something returned: what balances became stands in debts. Users that
 * leave may go. O(users + debts that change · log). */
void turns_settle(struct engine *engine, struct turns *turns);
