/* The load of many links in the last second, and which of them to report (pure).
 *
 * Ten samples make a second: their mean and their maximum count. A link is reported when its load
 * differs from the last report (by more than LINK_TABLE_STEP, or more was dropped), and every
 * LINK_TABLE_AGAIN seconds anyway, since a report may be lost.
 *
 * A ceiling is how a link looks that is slower than it is said to be: a figure that the link
 * reaches, stays at, and never exceeds. A second is full at a figure if each tenth of it carried
 * about that (1/8 less at most); seconds that carried less than 1/LINK_TABLE_LEAST of the rate, or
 * were not full, are pauses. A program that sends evenly by itself looks alike. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

#define LINK_TABLE_TENTHS 10
#define LINK_TABLE_STEP                                                                            \
    32 /* a smaller change than 1/LINK_TABLE_STEP, or than a kbit/s, is
                              * ignored */
#define LINK_TABLE_AGAIN 30
/* A direction has a ceiling once so many seconds were full at one figure, below half of the link's
 * rate, and none carried more. */
#define LINK_TABLE_CEILING 30
#define LINK_TABLE_LEAST   128

struct link_counters {
    uint64_t sent_bytes, received_bytes; /* counters that only grow; 64 bits */
    uint64_t dropped;                    /* packets */
};

struct link_use {
    uint64_t sent_bps, received_bps;                 /* over the last second */
    uint64_t sent_peak_bps, received_peak_bps;       /* in the fullest tenth of it */
    uint64_t dropped;                                /* as counted */
    uint64_t sent_ceiling_bps, received_ceiling_bps; /* 0: none is known */
};

struct link_table;

/* Of `n` links. −ENOMEM. */
int link_table_open(uint32_t n, struct link_table **ret_table, struct err *err);
/* A link's rate; 0, as at first: unknown, and it has no ceiling. */
void link_table_rate(struct link_table *table, uint32_t link, uint64_t rate_bps);
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
