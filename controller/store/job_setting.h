/* What operators ordered of a submitted job since it began, as settings in the store: kind "job",
 * the number as name. It goes with the job's end. */
#pragma once

#include "controller/engine/event.h"
#include "controller/store/store.h"

struct job_kept {
    bool has_priority; /* else it has the one that it was submitted with */
    int64_t priority;
    bool held;
    int64_t since_s; /* of a hold: wall clock, since 1970 */
    char by[ENGINE_NAME_MAX];
};

/* Adds to the open change: as it is from now on. Errors as store_set. */
int job_setting_put(struct store *store, uint64_t job, const struct job_kept *kept);
/* False: nothing is kept of it. */
bool job_setting_get(const struct store *store, uint64_t job, struct job_kept *ret_kept);
/* The job is over: adds to the open change that nothing is kept of it, where something was. */
void job_setting_drop(struct store *store, uint64_t job);
