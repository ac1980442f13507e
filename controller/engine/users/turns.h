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
    uint64_t offer;              /* that closed offer, from 1; an earlier one: it had no part */
    int64_t before, after;       /* balances */
    int64_t places, paid, quota; /* its entries, less those rolled over = paid + quota */
    int64_t used;
};

struct turns {
    struct offer offer;
    struct user **who;        /* in order of their numbers, as in the offer */
    uint64_t *sizes;          /* as many, for the caller */
    struct turns_part *parts; /* as many */
    uint64_t offers;          /* that were closed, */
    int64_t closed;           /* and granules of the last one */
    bool leaves;              /* somebody does, as of turns_build */
};

extern const struct engine_parameter parameter_even, parameter_debt_max;

/* Anew, of the users that there are; it may be zeroed. O(entries · log users). */
void turns_build(struct engine *engine, struct turns *turns, uint32_t repay_permille);
void turns_done(struct turns *turns);
/* The user's place in it; a known one's. O(1). */
uint32_t turns_index(const struct turns *turns, const struct user *user);
/* Whether it is; one that just came is not yet. O(1). */
bool turns_knows(const struct turns *turns, const struct user *user);
/* Closes the open offer (offer_close). O(touched), as offer.h has it; so are the next two. */
void turns_close(struct turns *turns);
/* offer_return. */
void turns_return(struct turns *turns, uint32_t user, uint64_t size);
/* An offer was closed, or something returned: what balances became stands in debts, and nobody is
 * touched any more. Users that leave may go; then all is built anew (users_changed). O(debts that
 * change · log) more, and while somebody leaves O(users). */
void turns_settle(struct engine *engine, struct turns *turns);
/* How the user stands, behind other words: who waits before it, what it had of the last offer, and
 * its balance. O(entries). */
void turns_explain(const struct turns *turns, const struct user *user,
                   struct engine_explanation *e);
