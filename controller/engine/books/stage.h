/* Stages and their tasks: when tasks are ready, and what follows when one runs, ends or loses its
 * output. Private to controller/engine.
 *
 * A stage is open when every barrier parent has ended and every task of every pipelined parent runs
 * or has ended, unless a claim of it was refused (refusal.h) or its job is held. Tasks of an open
 * stage that neither run nor are done are ready, and in the queues of their bucket: reduce tasks by
 * bytes, maps by locality.h (a large stage's tasks enter in portions, step by step); of a stage
 * that can run in several ways, in those of each (variant.h). This module makes all changes that a
 * transition means for queues, for counts of stage, job and engine, and for the job's turn. O(log
 * n), plus the tasks and attempts that change state. The ready tasks of a stage that closes are no
 * such: they leave the queues together, task_state() says that they are blocked, and each of them
 * is put right when it becomes something else.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Bytes into the stage, or into the one whose way it is: fixed at the first dispatch, an estimate
 * before. */
uint64_t stage_coflow_bytes(const struct stage *stage);
/* Makes its tasks ready if its parents allow it; makes them blocked again: O(hosts of its ready
 * maps), however many they are. */
void stage_open_if_due(struct engine *engine, struct stage *stage);
void stage_close(struct engine *engine, struct stage *stage);
/* Continues with stages whose tasks could not all become ready at once (step_ready_max), of the
 * application whose turn it is (facts/backlog_turns.h) the oldest job's first, as far as this step
 * may. */
void stage_go_on(struct engine *engine);
/* For load: the former progress. */
void stage_restore_opening(struct engine *engine, struct stage *stage, uint32_t task);
/* Its job ends: it leaves the sets and counts that others look at, without a look at its tasks.
 * O(log n). */
void stage_withdraw(struct engine *engine, struct stage *stage);
/* The stage has more tasks: if it is open they become ready, as many at once as may be. */
void stage_reopen(struct engine *engine, struct stage *stage);
/* The stage has more tasks, or is known better: its children become ready, or blocked. */
void stage_children_follow(struct engine *engine, struct stage *stage);

/* The task starts to run; no attempt of it runs any more; one of them was accepted, which may end
 * the job and free it. `host`: where its output is; NULL: unknown. */
void task_run(struct engine *engine, struct task *task);
void task_requeue(struct engine *engine, struct task *task);
/* It no longer waits for another host (retry.h): the policies place it. */
void task_queue_anywhere(struct engine *engine, struct task *task);
void task_accept(struct engine *engine, struct task *task, uint64_t attempt, struct host *host);
/* Call after task_requeue when its slot went with its host. Tasks pipelined behind it keep their
 * slots until it has run; with no other slot free they would wait for each other for ever, so
 * attempts that still read from its stage are stopped. */
void task_lose_slot(struct engine *engine, struct task *task);
/* For load: gives a blocked task its former state. */
void task_restore(struct engine *engine, struct task *task, enum task_state state,
                  uint64_t done_attempt, struct host *done_host);

/* Adds (1) or subtracts (−1) a framework's task in its job's sums: around any change of its bytes
 * or computing. */
void task_count_sums(struct task *task, int by);
/* Whether its outputs still have a reader. */
bool stage_is_needed(const struct stage *stage);
/* Its output is lost: it runs again. `readers`: stop attempts that still read from its stage;
 * false: they are stopped already. */
void task_lose_output(struct engine *engine, struct task *task, bool readers);
/* A task of an open stage becomes ready, now or since then; leaves the queues for that state. */
void task_queue(struct engine *engine, struct task *task);
void task_queue_since(struct engine *engine, struct task *task, int64_t ready_ns);
void task_unqueue(struct engine *engine, struct task *task, enum task_state state);
