/* Attempts that were stopped since nobody here knows their jobs, and of how many jobs they were. Pure;
 * zero to begin with. */
#pragma once

#include "controller/engine/engine.h"

#define ORPHANS_JOBS_MAX 1024

struct orphans {
    uint64_t attempts;
    uint32_t jobs;                   /* counted to ORPHANS_JOBS_MAX */
    uint64_t lost[ORPHANS_JOBS_MAX]; /* their numbers */
};

/* The attempt is stopped as an orphan: counts if its job is not known. O(ORPHANS_JOBS_MAX). */
void orphans_note(struct orphans *orphans, const struct engine *engine, uint64_t attempt);
