/* What each connection had carried at one reading of all of them, for its rates since then.
 *
 * Rates are asked for rarely, so nothing is read until somebody asks. A reading serves for
 * FLOW_RATES_OLD_NS; a rate is since a reading that is FLOW_RATES_YOUNG_NS old at least. Of more
 * than FLOW_RATES_MOST connections the rest have no rate.
 *
 * Pure: the time is a parameter. A lookup is O(log connections), the end of a reading
 * O(n · log n). */
#pragma once

#include "hostagent/marks/mark_abi.h"

#include <stdbool.h>
#include <stdint.h>

#define FLOW_RATES_MOST     16384
#define FLOW_RATES_YOUNG_NS UINT64_C(200000000)
#define FLOW_RATES_OLD_NS   UINT64_C(2000000000)

struct flow_carried {
    struct mark_flow_key key;
    uint64_t sent_bytes, received_bytes;
};

/* Zero it first. */
struct flow_rates {
    uint64_t at_ns; /* of the reading; 0: there is none */
    struct flow_carried *rows;
    uint32_t n, allocated;
};
void flow_rates_done(struct flow_rates *rates);

/* A reading: its begin, each connection, its end. Out of memory, and beyond the bound, a connection
 * is left out. */
void flow_rates_begin(struct flow_rates *rates, uint64_t now_ns);
void flow_rates_add(struct flow_rates *rates, const struct flow_carried *carried);
void flow_rates_end(struct flow_rates *rates);

/* Another reading is due before the next rates. */
bool flow_rates_are_old(const struct flow_rates *rates, uint64_t now_ns);
/* How long until there are rates since the last reading; 0: there are. */
uint64_t flow_rates_wait_ns(const struct flow_rates *rates, uint64_t now_ns);

/* In bit/s, since the reading, from what the connection has carried now. False: it was not among
 * those that were read. */
bool flow_rates_since(const struct flow_rates *rates, const struct flow_carried *now,
                      uint64_t now_ns, uint64_t *ret_sent_bps, uint64_t *ret_received_bps);
