/* What a host's units hold and what is left of it (pure).
 *
 * A unit is what an attempt occupies a part of: one per host by default, several under HRM. Every
 * amount is a non-negative int64 of the resource vector; a plain cluster's unit is {slots: 4}. All
 * calls are O(1). */
#pragma once

#include "schemas/duopoly.pb.h"

#include <stdbool.h>
#include <stdint.h>

#define SLOTS_UNITS 16

struct slots {
    uint32_t units_n;
    duopoly_Resources total[SLOTS_UNITS], used[SLOTS_UNITS];
};

/* Units without anything used. n ≤ SLOTS_UNITS. */
void slots_init(struct slots *slots, const duopoly_Resources *units, uint32_t n);

/* Whether the unit exists and the demand could ever fit it; a negative demand fits nowhere. */
bool slots_possible(const struct slots *slots, uint32_t unit, const duopoly_Resources *demand);

/* Whether it fits now. */
bool slots_fit(const struct slots *slots, uint32_t unit, const duopoly_Resources *demand);

/* Without a check: a found attempt takes what it takes, even beyond the total. */
void slots_take(struct slots *slots, uint32_t unit, const duopoly_Resources *demand);
void slots_give(struct slots *slots, uint32_t unit, const duopoly_Resources *demand);
