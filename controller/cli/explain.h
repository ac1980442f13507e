/* `duopolyctl explain`: why a task, a job, a host, a link or the mode is as it is.
 *
 * What is asked about is seen by how it is written: digits and slashes are a task, an attempt or a
 * job; `mode` is the mode; anything else is a host or switch. Behind a colon, or as a second word,
 * stands one of its links. So a host with a name of the first kinds is written with a colon behind
 * it: `mode:`, `7:`, `7:uplink`; of several colons the last one counts. */
#pragma once

#include "controller/cli/commands.h"

/* A task as a person writes it: JOB/STAGE/TASK, or the number of an attempt. Or a job by its
 * number. */
struct subject {
    uint64_t job, attempt; /* attempt ≠ 0: that one, or that job, and nothing else is set */
    uint32_t stage, task;
};

/* −EINVAL with a sentence. */
int subject_parse(const char *text, struct subject *ret_subject, struct err *err);

int explain_check(const struct request *request, struct err *err);
int run_explain(struct client *client, const struct request *request, struct writer *writer,
                struct err *err);
