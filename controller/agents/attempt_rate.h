/* How fast an attempt receives, from what its agent counts of it (pure).
 *
 * Counts come some ten times a second, while they grow. The rate is since a count that is one to
 * two seconds old, where there is one. O(1). */
#pragma once

#include <stdint.h>

#define ATTEMPT_RATE_NS INT64_C(1000000000)

/* Zero it first. */
struct attempt_rate {
    struct {
        int64_t at_ns; /* 0: there is none */
        uint64_t bytes;
    } before, since, last;
};

void attempt_rate_take(struct attempt_rate *rate, int64_t now_ns, uint64_t bytes);
/* In bit/s; 0 where nothing came for two seconds. −1: not known, as before the second count. */
int64_t attempt_rate_bps(const struct attempt_rate *rate, int64_t now_ns);
