/* Who owes whom: units that a user ran in another one's turn. Private to controller/engine.
 *
 * A debt is a note of an amount, without interest; nothing is moved by it. No user both owes and is
 * owed: a debt that would make a chain is transferred, so that the ends of the chain stand against
 * each other. k owes m r1, n owes m r2, and now k owes n r3: with t = min(r2, r3) the result is k
 * owes m r1 + t, n owes m r2 − t, k owes n r3 − t. Whatever is done here leaves each user's net
 * position (what it is owed less what it owes) as the operation says, and all positions sum to 0.
 *
 * A debt has the time since which it stands; a part that is transferred keeps its own, and where
 * two are joined the older one counts.
 *
 * Amounts are 1…2^60 in whatever unit the caller counts. With n users there are at most n²/4 debts,
 * since each is from one that owes to one that is owed. Operations are O(log debts) for each debt
 * that they change. −ENOMEM leaves the debts of no use but for debts_destroy.
 *
 * Source: Wang, Hong, Feng, "Resource Deployment Strategy for Multi-User Cluster", 2.1 (2); one
 * arrow of its three cases is printed the wrong way round, and is read as above. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct debts;

struct debt {
    uint32_t borrower, lender;
    uint64_t amount;
    int64_t since_ns;
};

/* NULL: no memory. */
struct debts *debts_create(void);
void debts_destroy(struct debts *debts);

/* The borrower owes the lender so much more; nothing happens where both are one, or for 0. 0 or
 * −ENOMEM. */
int debts_lend(struct debts *debts, uint32_t lender, uint32_t borrower, uint64_t amount,
               int64_t now_ns);
/* Cancels up to `amount` of what the borrower owes the lender; returns how much. */
uint64_t debts_repay(struct debts *debts, uint32_t borrower, uint32_t lender, uint64_t amount);
/* A third user's room served the lender: up to `amount` of what the borrower owes it is owed to the
 * third from now on; where the third is the borrower, the debt is cancelled. Returns how much, or
 * −ENOMEM. */
int64_t debts_move(struct debts *debts, uint32_t borrower, uint32_t lender, uint32_t third,
                   uint64_t amount);

/* What it is owed (+) or owes (−). O(its debts). */
int64_t debts_position(const struct debts *debts, uint32_t user);
/* What this borrower owes this lender; 0: nothing. */
uint64_t debts_between(const struct debts *debts, uint32_t borrower, uint32_t lender);
/* The first debt after (borrower, lender) in the order of borrowers, then of lenders; false: there
 * is none. */
bool debts_after(const struct debts *debts, uint32_t borrower, uint32_t lender,
                 struct debt *ret_debt);
/* The same, or that one itself. */
bool debts_from(const struct debts *debts, uint32_t borrower, uint32_t lender,
                struct debt *ret_debt);
/* The first debt in that order; false: nobody owes anything. */
bool debts_first(const struct debts *debts, struct debt *ret_debt);
/* Number of debts. O(1). */
uint64_t debts_count(const struct debts *debts);

/* What a borrower that owes `owed` pays back from `room` units of its own: all that it can when it
 * has nothing to run, else at most permille / 1000 of that, 1 ≤ permille ≤ 1000. What is lost by
 * rounding down is carried to the next time, in thousandths (< 1000), so that over any number of
 * turns a borrower with work keeps its part, and also a lender of single units is paid: of turns in
 * which it has room, each ⌈1000 / permille⌉ pay back at least one unit, so `owed` is repaid after
 * owed · ⌈1000 / permille⌉ of them at the latest. Pure. */
uint64_t debts_due(uint64_t owed, uint64_t room, bool has_work, uint32_t permille, uint32_t *carry);

struct debts_heir {
    uint32_t user, share;
};
/* A user leaves: what it is owed is dealt out to the heirs by their shares, of each debt ⌊share /
 * total · amount⌋; the rest that rounding leaves, and the debtor's own part, is no longer owed by
 * the debtor. `heirs` are all who stay, in order of their numbers, with all debtors among them. 0,
 * −EBUSY: it owes something, and has to pay first; −ENOMEM. */
int debts_leave(struct debts *debts, uint32_t user, const struct debts_heir *heirs, uint32_t n);
