/* What a recovered engine is told once it is loaded: what the store says beside the jobs. */
#pragma once

#include "controller/store/recovery.h"

struct lost_output {
    uint64_t job, attempt;
    uint32_t stage, task;
};

/* Tells the engine of `recovered`, in steps at `now_ns`: hosts lost since, the `n_lost` outputs
 * `lost`, users that were leaving, parameters, policies. Users that are gone by that leave the
 * store. `recovered->unknown` names a policy or parameter that the engine refused. Returns 0, or
 * -errno of the step that failed, with the sentence in `err`. O(hosts + n_lost + settings). */
int resume(struct store *store, int64_t now_ns, const struct lost_output *lost, size_t n_lost,
           struct recovered *recovered, struct err *err);
