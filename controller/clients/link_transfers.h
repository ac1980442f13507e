/* The transfers over a host's uplink or downlink: how many, those with the most urgent levels, and
 * the first in turn. */
#pragma once

#include "controller/conductor.h"

enum { LINK_TRANSFERS_TOLD = 4 };

struct link_transfer {
    struct attempt_view attempt;
    uint32_t level; /* in force */
    uint64_t place; /* of its job in turn */
};

struct link_transfers {
    uint32_t n, told; /* found; in `at`, by level and then by turn */
    struct link_transfer at[LINK_TRANSFERS_TOLD];
    struct link_transfer first; /* in turn, where n ≠ 0 */
    bool starved;               /* levels are those of Macroflows */
    bool more;                  /* a bound was reached: there may be more, */
    bool unsure;                /* or some may read from other hosts alone */
};

/* Of what arrives at the host, or (`uplink`) is read from it. Bounds: explanation_link.h. */
void link_transfers_find(const struct conductor_parts *parts, uint32_t host, bool uplink,
                         struct link_transfers *ret_transfers);
