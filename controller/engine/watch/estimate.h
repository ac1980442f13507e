/* What a job will probably cost. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* The SJF key in ns (Tian et al., section 4): (maps ÷ all slots) · map time + shuffle bytes · 8 ÷
 * (sum of uplink rates). Estimates that came with the job go before what its parts say. Saturates.
 * O(tasks).
 *
 * Slots and rates are those of the hosts that were up when the keys of all active jobs were last
 * made, so that keys stay comparable: at a submission without other active jobs, and when the
 * cluster has more than doubled since or is less than half of it. At least one slot and 1 bit/s. */
uint64_t estimate_duration(const struct engine *engine, const struct job *job);

/* Gives a job that is about to be active its key. */
void estimate_submitted(struct engine *engine, struct job *job);

/* Its sums changed: so does its turn. */
void estimate_follow_job(struct engine *engine, struct job *job);

/* Follows hosts that come and go. Jobs that are submitted while no host is up, as after a restart
 * of the controller, or while few are, would else stand behind all later ones for ever. O(1) when
 * nothing is due; else O(tasks of active jobs), for as many hosts that came or went as there
 * were. */
extern const struct listener estimate_hears;
