/* Bytes between stages of a framework's job, which are reported late, in pieces, or never. Private
 * to controller/engine.
 *
 * Per edge the reports are kept: rows of cells per map, sums per reduce task, sums per reduce task
 * and source host. A reduce task's bytes on an edge are *known* from the cells when every map of
 * the announced parent has its row, else from its sum (which BYTES_HOSTS reports too); each piece
 * replaces what it reported before. A task is known when all its edges are; its bytes are then
 * their sum.
 *
 * A task with edges that is not known is a reduce task all the same. Its bytes are a *guess*, the
 * same for all such tasks of a stage, at least 1 and at least what is known of it. The guess is the
 * first that exists of: the mean over the rows of ended maps, renewed each time that these have
 * doubled; the mean of the stage with this history number at its last run; its parents' input times
 * the ratio of shuffle to input seen so far; what its parents read from files, before a ratio was
 * seen (RULE_INPUT_GUESSED); the median of the means of the last SIZES_MEANS stages; the first
 * threshold of the Macroflow levels. It is made when the stage or a parent is announced and before
 * its tasks are ready. A guess counts for turn, place and sums; on the wire
 * such a task has the levels of the bytes received so far until it is known. Its level follows when
 * it becomes known and when its bytes are corrected.
 *
 * Cost: that of the piece. The piece that completes the cells, and a row that doubles the rows,
 * cost all reduce tasks of the stage; a guess or a correction costs the tasks that it changes; both
 * cost the stage's live attempts, O(log attempts) each, whose inputs are measured again, as many
 * as there are maps. Sizes and inputs beyond step_tasks_max follow in later steps; until then a
 * task keeps its size, and a new one has the guess. Rows and sums count as cells of the job
 * (cells_per_job_max); a piece beyond that is ignored and counted. Of SIZES_HISTORY_MAX histories
 * the one learnt longest ago is dropped first. */
#pragma once

#include "controller/engine/books/late.h"

enum { SIZES_MEANS = 63, SIZES_HISTORY_MAX = ENGINE_SIZES_MAX };

/* The stage has more tasks, from `before` on; its parents, their tasks or what is known of them
 * changed, or its tasks are about to be ready. */
void sizes_follow_tasks(struct engine *engine, struct stage *stage, uint32_t before);
void sizes_follow_parents(struct engine *engine, struct stage *stage);
/* Continues with stages whose sizes could not all follow at once, of the application whose turn it
 * is (facts/backlog_turns.h) the oldest job's first, then with inputs of attempts, in order of
 * their numbers. */
void sizes_go_on(struct engine *engine);
/* Sizes a new task, before it is counted anywhere. */
void sizes_begin_task(const struct engine *engine, struct task *task);
/* Sets the levels of an attempt of a framework's task from its sizes. */
void sizes_set_levels(struct engine *engine, struct attempt *attempt);
void sizes_done(struct engine *engine);

/* What stages had at their last run, for guesses and for the dump. */
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
/* For the dump: whether the task's size is not yet by all reports, since it follows rows neither
 * each nor at once; `otherwise`: whether it differs in being known. For load: restores that
 * size. */
bool sizes_is_behind(const struct task *task, bool *ret_otherwise);
void sizes_restore_task(struct engine *engine, struct task *task, uint64_t bytes, bool otherwise);
/* For load: this many are still to be sized, from `next` on; after the last comes the first. */
void sizes_restore_sizing(struct engine *engine, struct stage *stage, uint32_t next,
                          uint32_t unsized);
/* For load: the guess that the stage had. */
void sizes_restore_guess(struct engine *engine, struct stage *stage, uint64_t guess);

/* For load: what the attempt reads is still to be measured. */
void sizes_measure_later(struct engine *engine, struct attempt *attempt);

/* Sizes the task by all reports so far. */
void sizes_set_task(struct engine *engine, struct task *task);
/* Whether each map of the edge has its row. */
bool sizes_are_complete(const struct stage *stage, const struct edge *edge);
/* Sizes of tasks changed: their stage's place in the queues, the job's turn, levels. */
void sizes_settle(struct engine *engine, struct stage *stage);
/* Sizes all its tasks, in portions, and settles them. */
void sizes_set_all(struct engine *engine, struct stage *stage);
/* For a reduce task that is not known. O(edges · reduce tasks with cells). */
uint64_t sizes_guess(const struct engine *engine, const struct stage *stage);
/* The sum, or UINT64_MAX. */
uint64_t sizes_add(uint64_t a, uint64_t b);

extern const struct listener sizes_hears;
