/* Ends of attempts. Private to controller/engine.
 *
 * Exactly one attempt of a task is accepted: the first that is done. All others are stopped and
 * leave the task, so that their ends do not count. An end without result makes the task ready
 * again, unless another attempt of it runs; failures are counted, and the last one allowed fails
 * the job. Resources are free from the end on, not from the stop. Facts: an unknown attempt is
 * counted and ignored. O(log n), plus what the task's own state changes. */
#pragma once

#include "controller/engine/base/state.h"

void attempt_done(struct engine *engine, const struct event *event);
void attempt_failed(struct engine *engine, const struct event *event);
/* Its host would not start it: counted as a failure. */
void attempt_refused(struct engine *engine, const struct event *event);
void attempt_killed(struct engine *engine, const struct event *event);
void attempt_lost(struct engine *engine, const struct event *event);
/* The attempt has a result; the task has a result, whatever its source (host NULL: unknown), and
 * its other attempts are stopped. */
void outcome_done(struct engine *engine, struct attempt *attempt, uint64_t received_bytes);
void outcome_accept(struct engine *engine, struct task *task, uint64_t number, struct host *host);
/* Every attempt of the host is over and its outputs are gone. */
void attempts_of_host_lost(struct engine *engine, struct host *host);

/* A fact: an output is gone. If it is still needed, its task runs again. */
void job_output_lost(struct engine *engine, const struct event *event);
