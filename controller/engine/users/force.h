/* Getting back by force what others owe: running attempts are stopped for urgent tasks. Private to
 * controller/engine/users.
 *
 * A user that is owed something has tasks ready for which no room is free, of a job whose priority
 * is at least `force_priority`. Then the newest attempt of a user that owes it is stopped, and its
 * task waits again (books/eviction.h); of several debtors the one that owes most is the first. The
 * attempt must leave the room that such a task needs. In one step a debtor loses at most
 * repay_permille of the smaller of what it owes and what it holds (debts_due). Nothing more is
 * stopped for a user than it has such tasks, counting what is stopped and has not ended yet.
 *
 * Nobody loses attempts of jobs that are urgent themselves, nor of frameworks. Nothing is stopped
 * for tasks that the placement holds: they do not wait for room. */
#pragma once

#include "controller/engine/users/turns.h"

extern const struct engine_parameter parameter_force;

/* What a policy that forces keeps with each attempt. */
struct force_attempt {
    bool stopped;
    uint32_t lender; /* for whom it was stopped */
    uint64_t size;   /* granules that come free */
};
extern const struct field force_attempt_fields[];
void force_attempt_done(struct engine *engine, union policy_of of, void *state);
void force_attempt_load(struct engine *engine, union policy_of of, void *state);
bool force_attempt_keeps(const void *state);

/* What each user may still lose in this step, by users; −1: not counted yet. */
struct force {
    int64_t *budgets;
    bool used;
};

/* users_policy.evict. O(users), for each that is owed FORCE_LOOKS of its jobs, and the attempts of
 * who loses one. */
enum { FORCE_LOOKS = 64 };
bool force_next(struct engine *engine, struct turns *turns, const struct resources *granule,
                struct force *force, struct eviction *ret_eviction);

#define REASON_TAKEN_BACK ((enum reason)72)
#define FORCE_REASON                                                                               \
    {                                                                                              \
        DECISION_STOP, REASON_TAKEN_BACK, "taken-back", "granules that its user owed",             \
            "the user that took them back",                                                        \
            "its user owed {left} granules to user {right}, whose urgent task found no room."      \
    }
