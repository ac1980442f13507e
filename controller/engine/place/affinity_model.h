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
 * With either, a profile's time is a straight line in what is asked, from where the disk is full
 * on. So the least over many profiles has a bound from the least of each of their few numbers
 * (struct affinity_bound), and a search need not look at each of them.
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

/* Ratios of times in so many parts. */
#define AFFINITY_ONE (UINT64_C(1) << 32)

/* Of some profiles, the least of each number: what a task takes, by a time that each profile is
 * measured by. */
struct affinity_bound {
    uint64_t alone;   /* its lone time, by that time, in parts of AFFINITY_ONE; */
    uint64_t reading; /* of that, reading */
    uint64_t asked_bytes_s, read_bytes_s;
    uint64_t rounding; /* the most: how much less it may be, as times are whole ns */
};
#define AFFINITY_BOUND_OF_NONE                                                                     \
    ((struct affinity_bound){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0})

/* Of one profile, measured by `by_ns`; 0: each of its tasks takes infinitely long by that. */
struct affinity_bound affinity_bound_of(const struct profile *profile, uint64_t by_ns);
/* Of the profiles of both. */
struct affinity_bound affinity_bound_join(const struct affinity_bound *a,
                                          const struct affinity_bound *b);
/* No task of these profiles takes less there, by its profile's time, in parts of AFFINITY_ONE. The
 * disk does not hang. */
uint64_t affinity_bound_at(const struct affinity_bound *bound, const struct affinity_disk *disk,
                           enum affinity_stretch stretch);
/* predicted ÷ by, in the same parts, rounded down, at most UINT64_MAX. *ret_exact: it was not
 * rounded. */
uint64_t affinity_parts(uint64_t predicted_ns, uint64_t by_ns, bool *ret_exact);
