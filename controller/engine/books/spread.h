/* How a job is spread over hosts: on which of them its outputs lie, and how many of its attempts
 * are there. Private to controller/engine.
 *
 * One record for each host where a job has or had either, found by the host's number in O(1): each
 * start and each end asks. Those with outputs stand in a list of their host, and in the job's order
 * by host from the first time that somebody asks for it. Its attempts are those with a task (no
 * orphans). */
#pragma once

#include "controller/engine/base/state.h"

/* NULL: it never had anything there. O(1). */
struct job_host *spread_find(const struct job *job, const struct host *host);
/* 0 or more. O(1). */
uint32_t spread_outputs(const struct job *job, const struct host *host);

/* The job's records with outputs, by host (job_host.by_host); value: the fewer, the more of them.
 * O(1), O(n log n) when it is asked for the first time: most jobs end before anybody does. */
const struct sorted *spread_ordered(const struct job *job);

/* The attempt has a task, or has it no more. O(1). */
void spread_join(struct engine *engine, struct attempt *attempt);
void spread_leave(struct attempt *attempt);
/* An output more there, or one less. O(log hosts of the job). */
void spread_output(struct engine *engine, struct job *job, struct host *host, bool more);
/* Numbers of the jobs with outputs there, ascending; the caller frees them.
 * O(n log n) in jobs with outputs there. */
uint64_t *spread_jobs(struct engine *engine, const struct host *host, uint32_t *ret_n);
/* The job is about to go. */
void spread_done(struct job *job);
