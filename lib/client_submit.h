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
#include "lib/workload/workload.h"

/* What the controller said of a job. */
struct client_submitted {
    uint64_t job; /* the number that it gave */
    bool durable;
    bool before;    /* the job was there already and nothing new runs: `text` says how it stands */
    char text[256]; /* the controller's words */
};

/* Submits `job` (it passed workload_job_check); it begins at once. Errors as client_call's; after a
 * refusal the connection is good for further calls. */
int client_submit(struct client *client, const struct workload_job *job,
                  struct client_submitted *ret_submitted, struct err *err);

/* Several as one: client_prepare hands a job over and has it checked; nothing begins before
 * client_commit, and what has not begun when the connection ends is dropped.
 *
 * client_commit begins the oldest of those that were prepared (and not there `before`), as many as
 * the controller takes in one go, all of these or, with an error, none of these; `ret_left` more
 * wait for another call. */
int client_prepare(struct client *client, const struct workload_job *job,
                   struct client_submitted *ret_submitted, struct err *err);
int client_commit(struct client *client, struct client_submitted *ret_last, uint32_t *ret_left,
                  struct err *err);
