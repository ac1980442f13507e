/* How often something took how long: a count for each range of durations, with bounds that are the
 * same everywhere, 1, 2 and 5 times each power of ten from 10 us to 10 s. Pure; O(1) in time and
 * memory. Not safe between threads. */
#pragma once

#include <stdint.h>

#define HISTOGRAM_BOUNDS 19

struct histogram {
    uint64_t counts[HISTOGRAM_BOUNDS + 1]; /* the last one is of what is above all bounds */
    uint64_t sum_ns;
};

/* The bounds in ns, rising. A duration that equals one belongs below it. */
extern const uint64_t histogram_bounds_ns[HISTOGRAM_BOUNDS];

/* A negative duration, of a clock that was set back, counts as 0. */
void histogram_add(struct histogram *histogram, int64_t ns);
