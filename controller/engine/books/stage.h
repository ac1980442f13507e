/* Stages and their tasks: when they are ready, and what follows when one runs, ends or loses its
 * output. Private to controller/engine.
 *
 * A stage is open when every barrier parent has ended and every task of every pipelined parent runs
 * or has ended, unless a claim of it was refused (refusal.h); tasks of an open stage that neither
 * run nor are done are ready. Ready tasks stand in the queues of their bucket (those of a large
 * stage come to it in portions, step by step): reduce tasks by bytes, maps by locality.h. What a
 * transition changes in them, in the counts of stage, job and engine and in the job's turn is done
 * here. O(log n), plus the tasks and attempts whose state changes with it.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Bytes into the stage: fixed at the first dispatch, the present estimate before. */
uint64_t stage_coflow_bytes(const struct stage *stage);
/* Its tasks are ready from now on, if its parents let it; they are blocked again. */
void stage_open_if_due(struct engine *engine, struct stage *stage);
void stage_close(struct engine *engine, struct stage *stage);
/* Goes on with the stages whose tasks could not all be ready at once (step_ready_max), those of the
 * oldest job first, as far as this step may. */
void stage_go_on(struct engine *engine);
/* For load: it had come so far. */
void stage_restore_opening(struct engine *engine, struct stage *stage, uint32_t task);
/* Its job ends: it leaves the sets and counts that others look at; its tasks are not looked at,
 * however many they are. O(log n). */
void stage_withdraw(struct engine *engine, struct stage *stage);
/* It has more tasks: those of an open stage are ready, as many at once as may be. */
void stage_reopen(struct engine *engine, struct stage *stage);
/* It has more tasks, or is known better: who reads from it is ready, or not any more. */
void stage_children_follow(struct engine *engine, struct stage *stage);

/* The task starts to run; none of its attempts runs any more; one of them was accepted, which may
 * end the job and free it. `host`: where its output is; NULL: nobody knows. */
void task_run(struct engine *engine, struct task *task);
void task_requeue(struct engine *engine, struct task *task);
/* It waits for another host no more (retry.h): the policies place it. */
void task_queue_anywhere(struct engine *engine, struct task *task);
void task_accept(struct engine *engine, struct task *task, uint64_t attempt, struct host *host);
/* Its slot went with its host, after task_requeue. What is pipelined behind it holds its slots
 * until it has run: with no other slot free they would wait for each other for ever, so who still
 * reads from its stage is stopped. */
void task_lose_slot(struct engine *engine, struct task *task);
/* For load: a blocked task gets the state that it had. */
void task_restore(struct engine *engine, struct task *task, enum task_state state,
                  uint64_t done_attempt, struct host *done_host);

/* The parts of a framework's task in its job's sums come (1) or go (−1): around any change of its
 * bytes or computing. */
void task_count_sums(struct task *task, int by);
/* Somebody reads its outputs still. */
bool stage_is_needed(const struct stage *stage);
/* Its output is gone: it runs again. `readers`: who still reads from its stage is stopped; false:
 * they are. */
void task_lose_output(struct engine *engine, struct task *task, bool readers);
/* A task whose stage is open is ready, from now on or since then; is not any more, and is in that
 * state. */
void task_queue(struct engine *engine, struct task *task);
void task_queue_since(struct engine *engine, struct task *task, int64_t ready_ns);
void task_unqueue(struct engine *engine, struct task *task, enum task_state state);
