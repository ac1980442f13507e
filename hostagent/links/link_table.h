/* The load of many links in the last second, and which of them to report (pure).
 *
 * Ten samples make a second: their mean and their maximum count. A link is reported when its load
 * differs from the last report (by more than LINK_TABLE_STEP, or more was dropped), and every
 * LINK_TABLE_AGAIN seconds anyway, since a report may be lost. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

#define LINK_TABLE_TENTHS 10
#define LINK_TABLE_STEP                                                                            \
    32 /* a smaller change than 1/LINK_TABLE_STEP, or than a kbit/s, is
                              * ignored */
#define LINK_TABLE_AGAIN 30

struct link_counters {
    uint64_t sent_bytes, received_bytes; /* counters that only grow; 64 bits */
    uint64_t dropped;                    /* packets */
};

struct link_use {
    uint64_t sent_bps, received_bps;           /* over the last second */
    uint64_t sent_peak_bps, received_peak_bps; /* in the fullest tenth of it */
    uint64_t dropped;                          /* as counted */
};

struct link_table;

/* Of `n` links. −ENOMEM. */
int link_table_open(uint32_t n, struct link_table **ret_table, struct err *err);
void link_table_close(struct link_table *table); /* takes NULL */

/* A sample of all links. True: a second is over, and link_table_next lists what to report. A
 * counter that fell (an interface was made again) counts as 0; a sample that is not later than the
 * last one is ignored. O(n). */
bool link_table_add(struct link_table *table, uint64_t at_ns, const struct link_counters *counters);

/* The first link from *place on to report for the last second; *place is then behind it. False:
 * there is none. It counts as reported. */
bool link_table_next(struct link_table *table, uint32_t *place, uint32_t *ret_link,
                     struct link_use *ret_use);

/* The reports were lost: after the next second all are due. */
void link_table_forget(struct link_table *table);
