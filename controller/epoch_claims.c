#include "controller/epoch_claims.h"

#include "lib/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct epoch_claim {
    UT_hash_handle hh;
    char name[64];
    uint32_t epoch; /* the latest */
    bool believed;
};

static struct epoch_claim *claim_of(struct epoch_claims *claims, const char *name)
{
    struct epoch_claim *claim;
    HASH_FIND_STR(claims->claims, name, claim);
    if (claim || HASH_COUNT(claims->claims) >= EPOCH_CLAIMS_MAX ||
        !(claim = calloc(1, sizeof(*claim))))
        return claim;
    wire_copy(claim->name, sizeof(claim->name), name);
    HASH_ADD_STR(claims->claims, name, claim);
    return claim;
}

static bool most_agree(const struct epoch_claims *claims, uint32_t epoch)
{
    uint32_t agree = 0;
    for (const struct epoch_claim *claim = claims->claims; claim; claim = claim->hh.next)
        agree += claim->epoch >= epoch;
    return agree >= 2 && 2 * agree > HASH_COUNT(claims->claims);
}

bool epoch_claims_take(struct epoch_claims *claims, const char *name, uint32_t epoch,
                       struct err *err)
{
    struct epoch_claim *claim = claim_of(claims, name);
    if (!claim) {
        err_set(err, ENOSPC, "too many agents say so");
        return false;
    }
    claim->epoch = epoch > claim->epoch ? epoch : claim->epoch;
    if (claim->believed) {
        err_set(err, EPERM, "it was believed before, and is not again");
        return false;
    }
    claim->believed = epoch - claims->base <= EPOCH_ALONE || most_agree(claims, epoch);
    if (!claim->believed)
        err_set(err, EPERM,
                "that is more than %u beyond %" PRIu32
                ", and is believed when most agents that know a later epoch say so, two at least",
                EPOCH_ALONE, claims->base);
    return claim->believed;
}

void epoch_claims_done(struct epoch_claims *claims)
{
    struct epoch_claim *claim, *next;
    HASH_ITER (hh, claims->claims, claim, next) {
        HASH_DEL(claims->claims, claim);
        free(claim);
    }
}
