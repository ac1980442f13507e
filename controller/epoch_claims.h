/* Later epochs that agents say they have seen, while a controller whose state was restored or lost looks
 * for the one to begin above.
 *
 * Epochs are 32 bits and never go back: who is believed in saying a very high one leaves none for the
 * starts to come. So one host's word counts EPOCH_ALONE beyond the epoch of the restoration at most, which
 * is more than a controller that starts anew each second for eleven days needs; beyond that what more than half of
 * the hosts that say a later epoch say, two at least. And each host makes the controller begin again once:
 * who has been believed and knows a still later one is not heard again.
 *
 * Pure but for memory. O(hosts that said so). */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define EPOCH_ALONE      (1u << 20)
#define EPOCH_CLAIMS_MAX 65536

struct epoch_claim;

/* Zero but for the epoch of the restoration to begin with. */
struct epoch_claims {
    uint32_t base;
    struct epoch_claim *claims; /* a hash */
};

/* Whether the controller is to begin again above it; if not `err` says why. */
bool epoch_claims_take(struct epoch_claims *claims, const char *name, uint32_t epoch,
                       struct err *err);

void epoch_claims_done(struct epoch_claims *claims);
