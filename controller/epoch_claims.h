/* Collects later epochs that agents report, while a controller whose state was restored or lost
 * looks for the epoch to begin above.
 *
 * Epochs are 32 bits and never go back: trusting a very high one would leave none for later starts.
 * So one host's report counts up to EPOCH_ALONE beyond the restored epoch, which is more than a
 * controller that restarts each second for eleven days needs. Beyond that, more than half of the
 * reporting hosts must agree, at least two. Each host can make the controller begin again only
 * once: its further reports are ignored.
 *
 * Pure except for memory. O(reporting hosts). */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define EPOCH_ALONE      (1u << 20)
#define EPOCH_CLAIMS_MAX 65536

struct epoch_claim;

/* Zero it first, except for the restored epoch. */
struct epoch_claims {
    uint32_t base;
    struct epoch_claim *claims; /* a hash */
};

/* Whether the controller should begin again above it; if not, `err` says why. */
bool epoch_claims_take(struct epoch_claims *claims, const char *name, uint32_t epoch,
                       struct err *err);

void epoch_claims_done(struct epoch_claims *claims);
