/* Cursors into lists sorted by name. An entry that joins or leaves between two pages moves all
 * later ones by a place. So a cursor holds the place at which the next page begins and the identity
 * of the entry there, which is searched from its old place outwards. No entry that stays is
 * repeated or missed, unless the cursor's entry leaves, or moves by more than LISTING_AWAY places,
 * while an earlier one joins or leaves. */
#pragma once

#include "controller/agents/agents.h"

/* WHY a bound: any client that may look may send any cursor, and each examined place takes 0.1 µs.
 */
enum { LISTING_AWAY = 2048 };

struct listing_order {
    /* False: there is no entry. *ret_identity: constant, wherever the entry is. */
    bool (*at)(const void *list, uint32_t place, uint64_t *ret_identity);
    const void *list;
};

/* Agents sorted by name. */
struct listing_order listing_agents(const struct agents *agents);

/* To continue with row `row` (< 2¹⁹) of the entry at `place` (< 2²¹). Never 0. */
uint64_t listing_cursor(const struct listing_order *order, uint32_t place, uint32_t row);
/* The present place of that entry, and the row to begin with; the first place for a cursor of 0,
 * the place after the last for one beyond. Examines at most 2 × LISTING_AWAY + 22 places. */
uint32_t listing_resume(const struct listing_order *order, uint64_t cursor, uint32_t *ret_row);
