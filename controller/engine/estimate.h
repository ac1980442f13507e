/* What a job will probably cost. Private to controller/engine. */
#pragma once

#include "controller/engine/state.h"

/* The SJF key in ns (spec 1, "Mode switch"): (maps ÷ all slots) · map time + shuffle bytes · 8 ÷
 * (sum of uplink rates), with the hosts that are up now (at least one slot and 1 bit/s each).
 * Estimates that came with the job go before what its parts say. Saturates. O(tasks). */
uint64_t estimate_duration(const struct engine *engine, const struct job *job);
