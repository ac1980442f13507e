/* Submits a job of a workload to duopolyd: begin, stages, tasks, bytes, end, in parts below the
 * message limit. At most WIRE_PARTS parts are unanswered at any time, which bounds the memory of
 * both sides.
 *
 * A job's content is identified by a hash (XXH3) over all its parts as sent. The same name with the
 * same content is one job, however often it is submitted; the same name with other content is
 * refused. The submitter's job number, arrival time and deadline base are not sent: a job begins
 * when it is accepted. Blocks as client_call does. */
#pragma once

#include "lib/client.h"
#include "lib/workload/workload.h"

/* The controller's answer about a job. */
struct client_submitted {
    uint64_t job; /* the number that the controller gave */
    bool durable;
    bool before;    /* the job existed already, nothing new runs; `text` says its state */
    char text[256]; /* the controller's words */
};

/* Submits `job`, which has passed workload_job_check; it begins at once. Errors as client_call;
 * after a refusal the connection can be used further. */
int client_submit(struct client *client, const struct workload_job *job,
                  struct client_submitted *ret_submitted, struct err *err);

/* Several jobs as one: client_prepare submits a job and has it checked; no job begins before
 * client_commit, and what has not begun when the connection ends is dropped.
 *
 * client_commit begins the oldest prepared jobs (except those that were there `before`), as many as
 * the controller takes at once. It begins all of these or, with an error, none; `ret_left` more
 * wait for another call. */
int client_prepare(struct client *client, const struct workload_job *job,
                   struct client_submitted *ret_submitted, struct err *err);
int client_commit(struct client *client, struct client_submitted *ret_last, uint32_t *ret_left,
                  struct err *err);
