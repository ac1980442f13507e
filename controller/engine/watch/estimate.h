/* Estimates of jobs' durations. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* The SJF key in ns (Tian et al., section 4): (maps ÷ all slots) · map time + shuffle bytes · 8 ÷
 * (sum of uplink rates). The submitter's estimates replace what the job's parts amount to.
 * Saturates. O(tasks).
 *
 * Slots and rates are those of the hosts that were up when the keys of all active jobs were last
 * computed, so that keys stay comparable: at a submission without other active jobs, and when the
 * cluster has more than doubled or halved since. That goes in portions of step_tasks_max jobs, the
 * first at once, in the order of their numbers; until it comes to a job, the job's key is by the
 * former cluster. */
uint64_t estimate_duration(const struct engine *engine, const struct job *job);

/* What the job's key is by; at least one slot and 1 bit/s. O(1). */
struct keyed estimate_cluster(const struct engine *engine, const struct job *job);

/* Gives a job its key before it becomes active. */
void estimate_submitted(struct engine *engine, struct job *job);

/* The job's sums changed: updates its turn. */
void estimate_follow_job(struct engine *engine, struct job *job);

/* Updates keys when hosts come and go. WHY: jobs that are submitted while few hosts are up, as
 * after a restart of the controller, would else come after all later ones for ever. O(1) when
 * nothing is due; else a portion of jobs. */
extern const struct listener estimate_hears;

/* The next portion, if there is one; once a step, which is due at once while one is left. */
void estimate_go_on(struct engine *engine);
