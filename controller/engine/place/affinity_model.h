/* How long a task would take on a host now, by its profile and what is asked of the disk there.
 * Private to controller/engine/place; part of affinity.
 *
 * HDAS 1.1, formulas (1) to (3), with lib/profile.h: T = computing + reading; computing is the same
 * whatever runs beside it, reading takes its lone time × a stretch. Of the stretch the source's
 * text has lost the formula, so there are two readings (parameter `stretch`), the new task counted
 * in both:
 *
 *     asked   max(1, Σ asked ÷ B)      everybody gets its part of what it asks for
 *     parts   max(1, rate · n ÷ B)     everybody gets an equal part of B
 *
 * A host that does not say its B stretches nothing. Integers; all numbers saturate.
 *
 * Pure, O(1). */
#pragma once

#include "lib/profile.h"

#include <stdbool.h>

enum affinity_stretch { AFFINITY_ASKED, AFFINITY_PARTS };

/* What is asked of a disk, without the task that is predicted. */
struct affinity_disk {
    uint64_t bytes_s;       /* B; 0: not told */
    uint64_t asked_bytes_s; /* by all that read */
    uint64_t readers;
    bool hangs; /* it answers nothing: what reads there never ends */
};

/* Adds one that reads by this profile. */
void affinity_add_reader(struct affinity_disk *disk, const struct profile *profile);
/* Of what would never end. */
#define AFFINITY_NEVER_NS (UINT64_C(1) << 62)

/* ≥ its lone time, and ≥ 1; ≤ AFFINITY_NEVER_NS. */
uint64_t affinity_predict_ns(const struct profile *profile, const struct affinity_disk *disk,
                             enum affinity_stretch stretch);
/* Its lone time, ≥ 1. */
uint64_t affinity_lone_ns(const struct profile *profile);
/* a ÷ b against c ÷ d, b and d > 0: −1, 0 or 1. */
int affinity_compare(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
