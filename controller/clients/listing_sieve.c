#include "controller/clients/listing_sieve.h"

#include "controller/clients/refusal.h"

#include <string.h>

bool sieve_open(struct sieve *sieve, const struct list *list, const char *filter, uint32_t limit,
                duopoly_Envelope *answer)
{
    struct err err;
    sieve->row_bytes = list ? list->row_bytes : 0;
    sieve->looks = sieve->kept = 0;
    sieve->limit = limit;
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
    return sieve->looks >= LISTING_FILLS || (sieve->limit && sieve->kept >= sieve->limit);
}
