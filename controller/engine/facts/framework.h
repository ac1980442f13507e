/* Jobs of frameworks (Spark, MapReduce), which start and stop their tasks by themselves. Private to
 * controller/engine.
 *
 * A framework's job is in the same queues as others, and the same policies choose for it. The
 * differences:
 *  - a claim becomes an *allow* instead of a start (allow.h), and what its framework starts is
 *    *adopted*, wherever and whatever it is; the engine never starts or stops its tasks;
 *  - stages with network input are *gated*: their tasks start where they are allowed, until the
 *    stage is opened (gate.h); so are stages that the placement binds. For all other stages an
 *    allow is advice, and what they start is only accounted for;
 *  - it grows while it runs. Facts about stages, tasks, blocks, bytes, starts and ends come in any
 *    order and any number of times; each makes what it needs: the job, the stage, the tasks up to
 *    its own, an edge and the stage that the edge comes from. A stage made this way becomes ready
 *    when its framework offers its tasks, or has announced it and its parents;
 *  - neither failures nor a result end it: it is over when its framework reports that.
 *
 * What a fact makes is bounded by framework_jobs_max, stages_per_job_max, stage_tasks_max,
 * tasks_max and the shares of its owners (account.h). Facts beyond that, and about jobs that are
 * over or not a framework's, are ignored and counted, and a stage without a place is opened, so
 * that its framework places it. A task that may not be made still occupies its reported room.
 *
 * Stages are numbered so that parents come before children. Tasks are partitions: a stage that runs
 * again for some of them keeps its number of tasks. */
#pragma once

#include "controller/engine/base/state.h"

enum {
    FRAMEWORK_ATTEMPTS_MAX = 64, /* of a task, at a time; where accounts are kept */
};

/* Events. O(log n) plus what they make or change; FRAMEWORK_END: O(job). */
void framework_job(struct engine *engine, const struct event *event);
void framework_stage(struct engine *engine, const struct event *event);
void framework_grow(struct engine *engine, const struct event *event);
void framework_tasks(struct engine *engine, const struct event *event);
void framework_started(struct engine *engine, const struct event *event);
void framework_done(struct engine *engine, const struct event *event);
void framework_end(struct engine *engine, const struct event *event);

/* The thing that a fact is about, made if need be (a task: framework_grow.h); NULL: beyond a bound,
 * or no framework may report it; the fact is counted as ignored. */
struct job *framework_find_job(struct engine *engine, uint64_t number);
struct stage *framework_find_stage(struct engine *engine, struct job *job, uint32_t index);
struct edge *framework_find_edge(struct engine *engine, struct stage *stage, uint32_t parent,
                                 enum edge_kind kind);
