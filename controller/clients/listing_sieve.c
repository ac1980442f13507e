#include "controller/clients/listing_sieve.h"

#include "controller/clients/refusal.h"

#include <string.h>

bool sieve_open(struct sieve *sieve, const struct list *list, const char *filter,
                const struct sieve_bounds *bounds, duopoly_Envelope *answer)
{
    struct err err;
    sieve->row_bytes = list ? list->row_bytes : 0;
    sieve->looks = sieve->kept = 0;
    sieve->bounds = *bounds;
    sieve->chooses = *filter;
    if (!*filter)
        return true;
    if (!list) {
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED, "this list takes no filter");
        return false;
    }
    if (filter_read(filter, list->cells, &sieve->filter, &err) < 0) {
        refused_answer(answer, duopoly_Reason_REASON_MALFORMED, "%s", err.text);
        return false;
    }
    return true;
}

void sieve_range(const struct sieve *sieve, const char *key, uint64_t *ret_least,
                 uint64_t *ret_most)
{
    *ret_least = 0;
    *ret_most = UINT64_MAX;
    if (sieve->chooses)
        filter_range(&sieve->filter, key, ret_least, ret_most);
}

bool sieve_may_keep(const struct sieve *sieve, void *row, size_t known)
{
    if (!sieve->chooses || filter_may_keep(&sieve->filter, row, known))
        return true;
    memset(row, 0, known);
    return false;
}

bool sieve_keeps(struct sieve *sieve, void *row)
{
    sieve->looks++;
    if (!sieve->chooses || filter_keeps(&sieve->filter, row)) {
        sieve->kept++;
        return true;
    }
    memset(row, 0, sieve->row_bytes);
    return false;
}

bool sieve_is_worn(const struct sieve *sieve)
{
    return sieve->looks >= sieve->bounds.looks ||
           (sieve->bounds.rows && sieve->kept >= sieve->bounds.rows);
}
