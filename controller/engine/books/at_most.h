/* At most so many tasks of a job, or of a stage, at once on a host, or on a rack. Private to
 * controller/engine.
 *
 * What counts are attempts of its tasks there, sent or running; one that was told to stop counts no
 * more. Hosts without a rack are on one rack. What happens unasked (a task runs that nobody
 * started, a host moves to another rack) may exceed a bound; then nothing is started there.
 *
 * A placement keeps the bounds by itself, and says that it does (place_policy.at_most); jobs that
 * have one are refused while another is in force (REASON_NOT_KEPT), and that while they are active
 * (policy_fits). What else starts tasks asks at_most_room: retries, probes and claims of other
 * schedulers.
 *
 * There is memory for jobs with bounds only: a count for each host and rack where something runs.
 * O(log of these) per start and end; nothing for other jobs.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Nothing contradicts: a host is part of a rack, a stage (`inner`) of its job (`outer`). */
bool at_most_is_valid(struct at_most outer, struct at_most inner);

/* The job is complete: whether it has bounds. Call before its attempts come. */
void at_most_begin(struct job *job);
/* The attempt got its task (1), or is about to lose it (−1). */
void at_most_count(struct engine *engine, struct attempt *attempt, int by);
/* Call with −1 before the host's rack changes, and then with 1. O(attempts there). */
void at_most_recount(struct engine *engine, struct host *host, int by);

/* What runs there of the job (`stage` NULL) or of a first stage: on the host, on its rack. */
uint32_t at_most_on_host(const struct job *job, const struct stage *stage, const struct host *host);
uint32_t at_most_on_rack(const struct job *job, const struct stage *stage, const struct host *host);
/* So many more tasks of the stage, of any variant, may start there by the job's and the stage's
 * bounds; UINT32_MAX: any number. */
uint32_t at_most_room(const struct stage *stage, const struct host *host);
/* The first stage with a bound; ENGINE_NONE: the job has one. */
uint32_t at_most_first(const struct job *job);
