#include "controller/engine/share/granule.h"

#include <errno.h>
#include <inttypes.h>

static const uint64_t amount_max = (uint64_t)1 << GRANULE_AMOUNT_MAX_BITS;

uint64_t granule_offer(const int64_t *granule, const int64_t *room, uint32_t n)
{
    uint64_t least = amount_max;
    for (uint32_t d = 0; d < n; d++) {
        if (granule[d] <= 0)
            continue;
        uint64_t fit = room[d] > 0 ? (uint64_t)(room[d] / granule[d]) : 0;
        least = fit < least ? fit : least;
    }
    return least;
}

uint64_t granule_task(const int64_t *granule, const int64_t *demand, uint32_t n)
{
    uint64_t most = 1;
    for (uint32_t d = 0; d < n; d++) {
        if (granule[d] <= 0 || demand[d] <= 0)
            continue;
        uint64_t takes = (uint64_t)(demand[d] / granule[d] + (demand[d] % granule[d] > 0));
        most = takes > most ? takes : most;
    }
    return most < amount_max ? most : amount_max;
}

int granule_share(uint64_t granule, uint64_t amount, uint32_t user, uint32_t *ret_share,
                  struct err *err)
{
    if (!granule)
        return err_set(err, EINVAL, "the granule is 0, it must be at least 1");
    if (granule > amount)
        return err_set(err, ERANGE,
                       "the granule of %" PRIu64 " is larger than the share of user %u, %" PRIu64
                       "; choose one that divides every share",
                       granule, user, amount);
    if (amount % granule || amount / granule > 1u << 31)
        return err_set(err, EINVAL,
                       "the share of user %u, %" PRIu64 ", is not 1 to %u granules of %" PRIu64
                       "; choose a granule that divides every share",
                       user, amount, 1u << 31, granule);
    *ret_share = (uint32_t)(amount / granule);
    return 0;
}
