/* Unlimited levels for a network that numbers its levels: every size that a Macroflow or a Coflow
 * of a workload can have, in order; a size's level is its place.
 *
 * This equals one level per byte, as long as only sizes of the workload are looked up (a size
 * between two of them gets the level of the larger). Constant once made. */
#pragma once

#include "lib/err.h"
#include "lib/workload/workload.h"

#include <stddef.h>

struct ranks {
    uint64_t *sizes; /* owned, growing; NULL: levels are numbers already */
    size_t n;
};

/* 0; −EINVAL for more than FLUID_LEVELS_MAX sizes; −ENOMEM. O(n log n) in tasks. */
int ranks_make(struct ranks *ret_ranks, const struct workload_job *jobs, size_t n_jobs,
               struct err *err);
/* The level of that size; `size` itself without a table. O(log n). */
uint32_t ranks_level(const struct ranks *ranks, uint64_t size);
void ranks_done(struct ranks *ranks);
