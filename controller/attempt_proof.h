/* The proof of an attempt that a host reports after a restart of the controller: the number that
 * came with its start. The store has no placements; only a host that was sent the attempt can know
 * the number.
 *
 * The number is a keyed hash (HMAC-SHA-256) of the attempt, its task and the host's name; the key
 * is made once, at random, and kept in the store. A host that showed a right one has to show it
 * from that epoch on, which is stored too; other hosts are trusted without (their agents do not
 * know these numbers). */
#pragma once

#include "controller/store/store.h"

#include <stdint.h>

struct attempt_proof {
    uint8_t key[32];
};

/* The store's key, or a new one. −errno: there is no randomness. */
int attempt_proof_open(struct store *store, struct attempt_proof *ret_proof, struct err *err);

/* Never 0. */
uint64_t attempt_proof_of(const struct attempt_proof *proof, const char *host, uint64_t attempt,
                          uint64_t job, uint32_t stage, uint32_t task);

/* The epoch from which on this host proves its attempts; 0: it never did. The other sets it; 0:
 * forgets it. */
uint32_t attempt_proof_since(const struct store *store, const char *host);
void attempt_proof_shown(struct store *store, const char *host, uint32_t epoch);
