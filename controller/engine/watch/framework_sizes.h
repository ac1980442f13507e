/* Bytes between stages of a framework's job, which come late, in pieces, or never. Private to
 * controller/engine.
 *
 * Per edge is kept what was told: rows of cells per map, sums per reduce task, sums per reduce task
 * and source host. A reduce task's bytes on an edge are *known* from the cells when every map of
 * the announced parent has its row, else from its sum (which BYTES_HOSTS tells too); each piece
 * told replaces what it was told before. A task is known when all its edges are; its bytes are then
 * their sum.
 *
 * A task with edges that is not known is a reduce task all the same: its bytes are a *guess*, the
 * same for all such tasks of a stage, at least 1 and at least what is known of it. It comes from
 * the rows of maps that have ended, as if the others had the same, made anew where these are twice
 * as many; else from the mean of a task of the stage with this history number when it ran last;
 * else from its parents' input by the ratio seen so far of shuffle to input; else from the median
 * of the means of the last SIZES_MEANS stages; else it is the first threshold of the Macroflow
 * levels. It is made when the stage or a parent is announced and before its tasks are ready. A
 * guess counts for turn, place and sums; on the wire such a task has the levels that the bytes
 * received so far would have, until it is known: then its level follows, and so it does when what
 * is known is corrected.
 *
 * Cost: a piece costs what it tells. The piece that completes the cells, and a row with which rows
 * are twice as many, cost all reduce tasks of the stage, a guess or a correction those that it
 * changes; both the stage's live attempts. Sizes of more tasks than one step may change
 * (step_tasks_max) follow in the next ones; until then a task has the size that it had, a new one
 * the guess. Rows and sums count as cells of the job (cells_per_job_max); beyond, a piece is
 * ignored and counted. Histories: SIZES_HISTORY_MAX, the one not learnt for longest leaves. */
#pragma once

#include "controller/engine/books/late.h"

enum { SIZES_MEANS = 63, SIZES_HISTORY_MAX = ENGINE_SIZES_MAX };

/* Tasks of the stage are more, from `before` on; its parents, their tasks or what is known of them
 * changed; its tasks are about to be ready. */
void sizes_follow_tasks(struct engine *engine, struct stage *stage, uint32_t before);
void sizes_follow_parents(struct engine *engine, struct stage *stage);
/* Goes on with the stages whose sizes could not all follow at once, the oldest job's first. */
void sizes_go_on(struct engine *engine);
/* A new task, before it is counted anywhere. */
void sizes_begin_task(struct task *task);
/* The levels of an attempt of a framework's task, from its sizes. */
void sizes_set_levels(struct engine *engine, struct attempt *attempt);
void sizes_done(struct engine *engine);

/* What stages had, for guesses and for the dump. */
struct sizes_stage {
    uint64_t history, mean;
    struct sorted_node by_history, by_age;
};
struct sizes {
    uint64_t means[SIZES_MEANS]; /* a ring */
    uint64_t n_means;
    uint64_t input, shuffle; /* of stages whose parents' input is known; halved as they grow */
    struct sorted by_history, by_age;
    uint64_t age;
};
struct sizes *sizes_of(struct engine *engine);
void sizes_remember(struct engine *engine, uint64_t history, uint64_t mean);
/* For the dump: the task's size is not by all that was told, for it does not follow each row, and
 * not at once; `otherwise`: so is whether it is known. For load: this is what it was. */
bool sizes_is_behind(const struct task *task, bool *ret_otherwise);
void sizes_restore_task(struct engine *engine, struct task *task, uint64_t bytes, bool otherwise);
/* For load: so many are to be sized yet, from that one on, the first behind the last. */
void sizes_restore_sizing(struct engine *engine, struct stage *stage, uint32_t next,
                          uint32_t unsized);
/* For load: the guess that the stage had. */
void sizes_restore_guess(struct engine *engine, struct stage *stage, uint64_t guess);

/* By all that was told so far. */
void sizes_set_task(struct engine *engine, struct task *task);
/* Each map of the edge has its row. */
bool sizes_are_complete(const struct stage *stage, const struct edge *edge);
/* Sizes of tasks changed: their stage's place in the queues, the job's turn, levels. */
void sizes_settle(struct engine *engine, struct stage *stage);
/* The same of all its tasks, and what follows; in portions. */
void sizes_set_all(struct engine *engine, struct stage *stage);
/* Of a reduce task that is not known. O(edges · reduce tasks with cells). */
uint64_t sizes_guess(const struct engine *engine, const struct stage *stage);
/* The sum, or UINT64_MAX. */
uint64_t sizes_add(uint64_t a, uint64_t b);

extern const struct listener sizes_hears;
