/* The changes of the mode, with the rule and the numbers that each followed from: the newest
 * MODE_HISTORY since this controller's start, for people. A change does not depend on them. Pure;
 * nothing is allocated; O(log MODE_HISTORY). */
#pragma once

#include <stdint.h>

#define MODE_HISTORY 256

struct mode_change {
    uint64_t sequence; /* the mode's, which grows with each change */
    uint32_t mode;     /* enum mode */
    int64_t at_ns;     /* on the controller's clock, */
    int64_t wall_ns;   /* and on the wall's, since 1970 */
    int64_t ready, free;
    char rule[16];
};

struct mode_history {
    uint64_t n; /* changes so far; the last is at (n − 1) mod MODE_HISTORY */
    struct mode_change at[MODE_HISTORY];
};

void mode_history_add(struct mode_history *history, const struct mode_change *change);
/* The last; NULL: it has not changed. */
const struct mode_change *mode_history_last(const struct mode_history *history);
/* The newest that is older than the one with this sequence; 0: the newest of all. NULL: there is
 * none, or it is not kept any more. */
const struct mode_change *mode_history_before(const struct mode_history *history,
                                              uint64_t sequence);
