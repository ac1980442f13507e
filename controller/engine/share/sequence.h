/* Sequence deployment: the fixed order in which users get units of the cluster. Private to
 * controller/engine.
 *
 * A turn has one entry for each unit of the users' shares, which are divided by their greatest
 * common divisor first. Whoever offers an amount takes so many entries from the position on,
 * cyclically: each entry is one unit for its user. A whole turn gives each user exactly its share;
 * two orders differ inside a turn:
 *
 *   literal  the source's largest deficit: of the users with remaining units r of a share R the one
 *            with the largest (r − 1)/R, ties to the later user. That is D'Hondt's method: with n
 *            users, of T units in a turn, a user is less than one unit behind t·R/T after t
 *            entries, and at most (n − 1)·R/T ahead. Proof: the user that just took its k-th unit
 *            had the least (x + 1)/R, so every other has x_j ≥ k·R_j/R − 1; summed over all of
 *            them, t ≥ k·T/R − (n − 1). And a user a whole unit behind would have been taken before
 *            whichever is ahead.
 *   even     Tijdeman's chairman assignment: of the users whose next unit is due (t·R/T − x ≥ 1/d,
 *            d = 2n − 2) the one whose unit is late soonest, ties to the later user. No user is
 *            ever more than 1 − 1/d units ahead or behind.
 *
 * Users stand in order of falling shares, of equal ones in the caller's order. Everything is in
 * integers; fractions are compared as cross products.
 *
 * Cost: create is O(entries · log users), an offer O(users) whatever its amount: the number of each
 * user's entries before each n-th entry is kept; and where each user's entries are, so that one
 * user's are counted alone. Memory is 12 bytes an entry.
 *
 * One object in several files: sequence, sequence_order.
 *
 * Sources: Wang, Hong, Feng, "Resource Deployment Strategy for Multi-User Cluster", 2.1; R.
 * Tijdeman, "The chairman assignment problem", Discrete Mathematics 32 (1980). */
#pragma once

#include "lib/err.h"

#include <stdint.h>

enum sequence_order { SEQUENCE_LITERAL, SEQUENCE_EVEN, SEQUENCE_ORDERS };
enum { SEQUENCE_ENTRIES_MAX = 1 << 20 };

struct sequence_user {
    uint32_t number; /* for sentences */
    uint32_t share;  /* 1…2^31 */
};

struct sequence;

/* Whether there is a turn of these users, n ≥ 1: 0, or as sequence_create says. O(n). */
int sequence_check(const struct sequence_user *users, uint32_t n, struct err *err);
/* A turn of these users, n ≥ 1, at its first entry. Everywhere below users are counted from 0 in
 * this order. −EINVAL: a share is 0 or above 2^31; −E2BIG: more than SEQUENCE_ENTRIES_MAX entries;
 * each with a sentence that names the shares. −ENOMEM. The caller owns it. */
int sequence_create(const struct sequence_user *users, uint32_t n, enum sequence_order order,
                    struct sequence **ret_sequence, struct err *err);
void sequence_destroy(struct sequence *sequence);

/* The next `amount` entries (≤ 2^60), which are added to each user's count. O(users). */
void sequence_take(struct sequence *sequence, uint64_t amount, int64_t *counts);
/* The position goes back by so many, and they are subtracted. O(users). */
void sequence_back(struct sequence *sequence, uint64_t amount, int64_t *counts);
/* How many of the next `amount` entries are this user's. O(log entries). */
int64_t sequence_count(const struct sequence *sequence, uint32_t user, uint64_t amount);
/* Who has the entry at the position. O(1). */
uint32_t sequence_next(const struct sequence *sequence);

/* Entries of a turn; the entry that is next, from 0; a user's entries in a turn. O(1). */
uint32_t sequence_entries(const struct sequence *sequence);
uint32_t sequence_position(const struct sequence *sequence);
uint32_t sequence_share(const struct sequence *sequence, uint32_t user);
/* So many entries come from the position on before this user's next one, which are added to each
 * user's count. O(entries). */
uint32_t sequence_until(const struct sequence *sequence, uint32_t user, int64_t *counts);
/* Taken modulo the entries: what was kept, or what the functions below say. */
void sequence_seek(struct sequence *sequence, uint64_t position);
/* The user that an entry is for; entry < entries. O(1). */
uint32_t sequence_at(const struct sequence *sequence, uint32_t entry);

/* The position that a turn of `total` units has after a user with this share joined, or after one
 * left; both before `total` changes, which is the sum of the shares as they were said. Those who
 * stay are off by at most twice the order's drift and one unit in the turn of the change: at both
 * positions each is within the drift of the same part of its share but for the rounding, which is
 * at most half a unit of all. 0 ≤ position < total. */
uint64_t sequence_joined(uint64_t position, uint64_t total, uint32_t share);
uint64_t sequence_left(uint64_t position, uint64_t total, uint32_t share);

/* How far a user is ahead of its share, or behind, at most after any number of entries from the
 * turn's start: in 1/entries of a unit. */
struct sequence_drift {
    uint64_t ahead, behind;
};
struct sequence_drift sequence_drift(const struct sequence *sequence);
