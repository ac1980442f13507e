/* What a host's units hold and what is left of it (pure).
 *
 * A unit is what an attempt occupies a part of: one per host by default, several under HRM. Every
 * amount is a non-negative int64 of the resource vector; a plain cluster's unit is {slots: 4}.
 *
 * A unit may have devices. One is shared: who demands gpu_milli or gpu_mem_bytes gets it beside
 * others, within the unit's amounts. Several are handed out whole: who demands gpu_milli gets one
 * for each 1000 or part of it, and nobody else does meanwhile. All calls are O(1). */
#pragma once

#include "hostagent/devices/device.h"
#include "schemas/duopoly.pb.h"

#include <stdbool.h>
#include <stdint.h>

#define SLOTS_UNITS 16

struct slots {
    uint32_t units_n;
    duopoly_Resources total[SLOTS_UNITS], used[SLOTS_UNITS];
    uint32_t devices[SLOTS_UNITS]; /* masks; no device is in two */
    uint32_t holders[DEVICES_MAX]; /* attempts that have the device */
};

/* Units without anything used. n ≤ SLOTS_UNITS. `devices`: a mask for each unit; NULL: none. */
void slots_init(struct slots *slots, const duopoly_Resources *units, const uint32_t *devices,
                uint32_t n);

/* Whether the unit exists and the demand could ever fit it; a negative demand fits nowhere. */
bool slots_possible(const struct slots *slots, uint32_t unit, const duopoly_Resources *demand);

/* Whether it fits now. */
bool slots_fit(const struct slots *slots, uint32_t unit, const duopoly_Resources *demand);

/* Takes what fits now; returns the devices that the attempt gets. */
uint32_t slots_take(struct slots *slots, uint32_t unit, const duopoly_Resources *demand);
/* Without a check: a found attempt takes what it takes, even beyond the total. */
void slots_take_found(struct slots *slots, uint32_t unit, const duopoly_Resources *demand,
                      uint32_t devices);
void slots_give(struct slots *slots, uint32_t unit, const duopoly_Resources *demand,
                uint32_t devices);
