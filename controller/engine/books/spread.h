/* How a job is spread over hosts: where its outputs are, and its attempts on each host. Private to
 * controller/engine.
 *
 * There is one record for each host where the job has or had either, found by the host's number in
 * O(1), since each start and each end asks for it. Records with outputs are in a list of their host
 * and, from the first call of spread_ordered on, in the job's order by host. Only attempts with a
 * task count (no orphans). */
#pragma once

#include "controller/engine/base/state.h"

/* NULL: it never had anything there. O(1). */
struct job_host *spread_find(const struct job *job, const struct host *host);
/* Its outputs there. O(1). */
uint32_t spread_outputs(const struct job *job, const struct host *host);

/* The job's records with outputs, by host (job_host.by_host); value: the smaller, the more outputs.
 * O(1), the first call O(n log n): most jobs end before it. */
const struct sorted *spread_ordered(const struct job *job);

/* The attempt got its task; is about to lose it. O(1). */
void spread_join(struct engine *engine, struct attempt *attempt);
void spread_leave(struct attempt *attempt);
/* One output more or less there. O(log hosts of the job). */
void spread_output(struct engine *engine, struct job *job, struct host *host, bool more);
/* Numbers of the jobs with outputs there, ascending; the caller frees them. O(n log n) in these
 * jobs. */
uint64_t *spread_jobs(struct engine *engine, const struct host *host, uint32_t *ret_n);
/* The job is about to be freed. */
void spread_done(struct job *job);
