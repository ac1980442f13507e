/* Cursors into lists in the order of names. Who joins or leaves between two pages moves all behind it
 * by a place: so a cursor says at which place the next page begins and who stood there, and who it was
 * is looked for, from its old place on outwards. None is repeated or missed that was there all the
 * time, but where the one of the cursor left, or moved by more than LISTING_AWAY places, and another
 * one before it joined or left meanwhile. */
#pragma once

#include "controller/agents/agents.h"

/* WHY a bound: whoever may look may say any cursor, and each place that is looked at takes 0.1 µs. */
enum { LISTING_AWAY = 2048 };

struct listing_order {
    /* False: nobody stands there. *ret_identity: the same wherever it stands. */
    bool (*at)(const void *list, uint32_t place, uint64_t *ret_identity);
    const void *list;
};

/* Agents by their names. */
struct listing_order listing_agents(const struct agents *agents);

/* To go on with row `row` (< 2¹⁹) of the one at `place` (< 2²¹). Never 0. */
uint64_t listing_cursor(const struct listing_order *order, uint32_t place, uint32_t row);
/* Where that is now, and from which of its rows on; the first place for a cursor of 0, the one behind
 * all for one beyond them. Looks at no more than 2 × LISTING_AWAY + 22 places. */
uint32_t listing_resume(const struct listing_order *order, uint64_t cursor, uint32_t *ret_row);
