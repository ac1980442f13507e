/* Jobs: how they arrive in parts, when their tasks are ready, when they are over. Private to
 * controller/engine.
 *
 * A job is active from job_end until its last task is accepted, or until it fails or is cancelled.
 * A stage is open when every barrier parent has ended and every task of every pipelined parent runs
 * or has ended; tasks of an open stage that neither run nor are done are ready. Each task has at
 * most one accepted attempt. */
#pragma once

#include "controller/engine/state.h"

/* Requests; rejected with a reason, then nothing has changed. */
void job_begin(struct engine *engine, const struct event *event);
void job_stage(struct engine *engine, const struct event *event);
void job_tasks(struct engine *engine, const struct event *event);
void job_bytes(struct engine *engine, const struct event *event);
void job_end(struct engine *engine, const struct event *event);
void job_update(struct engine *engine, const struct event *event);
void job_cancel(struct engine *engine, const struct event *event);
void job_output_lost(struct engine *engine, const struct event *event);

struct job *job_find(const struct engine *engine, uint64_t number);
struct finished *job_find_finished(const struct engine *engine, uint64_t number);
/* NULL: no such task in an active or arriving job. */
struct task *job_find_task(const struct engine *engine, uint64_t number, uint32_t stage,
                           uint32_t task);

/* Bytes into the stage: fixed at the first dispatch, the present estimate before. */
uint64_t stage_coflow_bytes(const struct stage *stage);

/* Transitions, called by attempts: a task starts to run, is ready again, is accepted. */
void task_run(struct engine *engine, struct task *task);
void task_requeue(struct engine *engine, struct task *task);
/* Its slot went with its host, after task_requeue. What is pipelined behind it holds its slots
 * until it has run: with no other slot free they would wait for each other for ever, so who still
 * reads from its stage is stopped. */
void task_lose_slot(struct engine *engine, struct task *task);
void task_accept(struct engine *engine, struct task *task, uint64_t attempt, struct host *host);
/* A task failed for good, or the job is cancelled: every attempt is stopped, outputs are forgotten.
 * The job is freed. */
void job_fail(struct engine *engine, struct job *job, enum reason reason, struct task *task,
              uint64_t attempt, int64_t left);
/* The host's outputs are gone: maps whose output is still needed run again. */
void job_outputs_of_host_lost(struct engine *engine, struct host *host);

/* All parts are there: links stages to their children, sums bytes per task, stage and job. */
void job_assemble(struct engine *engine, struct job *job);
/* An assembled job with its estimate takes part from now on; its stages are not looked at. */
void job_activate(struct engine *engine, struct job *job);
/* For load: a blocked task gets the state that it had. */
void task_restore(struct engine *engine, struct task *task, enum task_state state,
                  uint64_t done_attempt, struct host *done_host);
void job_finish(struct engine *engine, struct job *job);

/* Indexes of the ready queues; for load and for a change of policy. */
void job_reorder(struct engine *engine, struct job *job);
void bucket_update(struct engine *engine, struct bucket *bucket);
void task_make_ready(struct engine *engine, struct task *task);
void stage_open_if_due(struct engine *engine, struct stage *stage);
/* Its ready tasks are blocked again. */
void stage_close(struct engine *engine, struct stage *stage);
/* Frees without any decision. */
void job_destroy(struct engine *engine, struct job *job);
/* Keeps a record of a job that is over, the oldest one leaves at finished_max. Takes `record`. */
void job_remember(struct engine *engine, struct finished *record);
/* FNV-1a of a name, the key of the name index. */
uint64_t job_name_hash(const char *name);
