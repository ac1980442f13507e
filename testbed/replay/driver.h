/* The replay's driver: submits each job of a workload at its arrival through duopolyd's Unix
 * socket, waits for its end, and writes one line a job.
 *
 * Open loop: a job is submitted at its time, however far behind the cluster is. Times are
 * CLOCK_BOOTTIME, the clock of the controller's log; a job's planned arrival is the start of the
 * replay plus the workload's arrival, so that what the submission itself takes counts as the job's
 * own time.
 *
 * Results (JSON Lines): for each round a line {"replay": 1, "label", "workload", "start_ns",
 * "scale", "hosts"}, then for each job, in order of its end, {"job" (the controller's number),
 * "id", "name", "state", "planned_ns", "submitted_ns", "finished_ns", "slot_wait_ns", "bytes"
 * (shuffle), "tasks"}. One that was not done has its "reason", and if an attempt failed, its "host"
 * and "attempt"; the reason is also written to `words`.
 *
 * One thread; blocks until the last job has ended. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "lib/err.h"
#include "lib/workload/workload_convert.h"

struct driver_options {
    const char *workload;
    const char *socket;
    const char *label; /* of the run */
    struct workload_convert convert;
    FILE *results;        /* NULL: none */
    FILE *words;          /* progress */
    bool terminal;        /* `words` is one */
    uint64_t rounds;      /* number of repetitions of the workload, one after the other; 0: for
                           * ever */
    uint64_t patience_ns; /* give up if no job ends for this long after the last arrival; 0:
                             never */
};

/* 0 if every job is done; 1 if some failed or were cancelled (their rows say which); −errno with a
 * sentence if the replay could not be finished. */
int driver_run(const struct driver_options *options, struct err *err);
