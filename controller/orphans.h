/* Counts attempts that were stopped because their jobs are unknown here, and how many jobs these
 * were; one line of the log for those of one step. */
#pragma once

#include "controller/listeners.h"

#define ORPHANS_JOBS_MAX 1024

struct orphans {
    const struct engine *engine; /* borrowed; the rest is zero to begin with */
    uint64_t attempts;
    uint32_t jobs;                   /* counted to ORPHANS_JOBS_MAX */
    uint64_t lost[ORPHANS_JOBS_MAX]; /* their numbers */
};

/* `user` is the struct orphans. O(ORPHANS_JOBS_MAX) for each stopped attempt. */
extern const struct listener orphans_listener;
