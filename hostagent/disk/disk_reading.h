/* Whether a task reads from its host's disk now, and what it asks of that: by its profile, and by
 * what is counted of it.
 *
 * A task with a profile that reads is taken to read from its start on: one that reads before it
 * computes for as long as it reads alone, one that reads meanwhile for as long as it computes
 * alone; then for as long as it is seen to read, until it has read its profile's bytes. It asks
 * what its profile says (lib/profile.h), or what is seen where that is more: a task that asks more
 * than its profile says is counted by what it asks. What is seen of a task that reads before it
 * computes is its rate in the last window; of one that reads by turns its rate since it began,
 * since a turn is fuller than their mean.
 *
 * A task without a profile, or that has read all that its profile says, reads while it is seen to,
 * at the rate of the last window. A window ends with the first count after DISK_WINDOW_NS.
 *
 * Pure, O(1); all numbers saturate. */
#pragma once

#include "lib/profile.h"

#include <stdbool.h>
#include <stdint.h>

#define DISK_WINDOW_NS UINT64_C(500000000)

struct disk_reading {
    struct profile profile;           /* all 0: not known */
    bool found, counted;              /* it ran before; somebody counts what it reads */
    uint64_t began_ns, began_bytes;   /* when it was first seen, and what it had read then */
    uint64_t bytes;                   /* that it has read */
    uint64_t window_ns, window_bytes; /* where the present window begins */
    uint64_t rate_bytes_s;            /* in the last window, */
    uint64_t best_bytes_s;            /* and in the fullest one */
    uint64_t reading_ns;              /* of all windows in which it read */
};

/* A task begins now; `found`: it has run for a while, and may have read. */
void disk_reading_begin(struct disk_reading *reading, const struct profile *profile,
                        uint64_t now_ns, bool found);
/* It has read so many bytes since it began; fewer than before change nothing. */
void disk_reading_count(struct disk_reading *reading, uint64_t now_ns, uint64_t bytes);
/* It is over: the present window ends. */
void disk_reading_end(struct disk_reading *reading, uint64_t now_ns);
/* False: it does not read now. */
bool disk_reading_asks(const struct disk_reading *reading, uint64_t now_ns, uint64_t *ret_bytes_s);
