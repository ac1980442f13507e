/* Handing a job of a workload over to duopolyd: begin, stages, tasks, bytes, end, in parts below
 * the message limit with at most WIRE_PARTS of them unanswered, so that neither side ever holds
 * more than that.
 *
 * The job's content is a hash (XXH3) over all its parts as they go over the wire: the same name
 * with the same content is one job however often it is submitted, the same name with other content
 * is refused. The submitter's number, arrival and deadline's base stay with the submitter: a job
 * begins when it is accepted. Blocks as client_call does. */
#pragma once

#include "lib/client.h"
#include "lib/workload.h"

/* Submits `job` (it passed workload_job_check). The number that the controller gave it, and its
 * word on durability in `ret_durable`. Errors as client_call's; after a refusal the connection is
 * good for further calls. */
int client_submit(struct client *client, const struct workload_job *job, uint64_t *ret_job,
                  bool *ret_durable, struct err *err);
