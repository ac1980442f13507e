#include "hostagent/flow_rates.h"

#include "lib/grow.h"

#include <stdlib.h>
#include <string.h>

void flow_rates_done(struct flow_rates *rates)
{
    free(rates->rows);
    *rates = (struct flow_rates){0};
}

void flow_rates_begin(struct flow_rates *rates, uint64_t now_ns)
{
    rates->n = 0;
    rates->at_ns = now_ns;
}

void flow_rates_add(struct flow_rates *rates, const struct flow_carried *carried)
{
    if (rates->n < FLOW_RATES_MOST && array_grow(rates->rows, rates->n, rates->allocated, 256))
        rates->rows[rates->n++] = *carried;
}

static int by_key(const void *a, const void *b)
{
    const struct flow_carried *x = a, *y = b;
    return memcmp(&x->key, &y->key, sizeof(x->key));
}

void flow_rates_end(struct flow_rates *rates)
{
    if (rates->n)
        qsort(rates->rows, rates->n, sizeof(rates->rows[0]), by_key);
}

bool flow_rates_are_old(const struct flow_rates *rates, uint64_t now_ns)
{
    return !rates->at_ns || now_ns > rates->at_ns + FLOW_RATES_OLD_NS;
}

uint64_t flow_rates_wait_ns(const struct flow_rates *rates, uint64_t now_ns)
{
    const uint64_t ripe_ns = rates->at_ns + FLOW_RATES_YOUNG_NS;
    return now_ns < ripe_ns ? ripe_ns - now_ns : 0;
}

/* 0 where less than before was carried: another connection has the same ends. */
static uint64_t bps(uint64_t before, uint64_t bytes, uint64_t ns)
{
    const uint64_t more = bytes > before ? bytes - before : 0;
    return (uint64_t)((unsigned __int128)more * 8 * 1000000000 / ns);
}

bool flow_rates_since(const struct flow_rates *rates, const struct flow_carried *now,
                      uint64_t now_ns, uint64_t *ret_sent_bps, uint64_t *ret_received_bps)
{
    const struct flow_carried *before =
        rates->n ? bsearch(now, rates->rows, rates->n, sizeof(rates->rows[0]), by_key) : NULL;
    if (!before || now_ns <= rates->at_ns)
        return false;
    *ret_sent_bps = bps(before->sent_bytes, now->sent_bytes, now_ns - rates->at_ns);
    *ret_received_bps = bps(before->received_bytes, now->received_bytes, now_ns - rates->at_ns);
    return true;
}
