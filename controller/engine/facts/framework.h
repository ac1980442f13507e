/* Jobs of frameworks (Spark, MapReduce), which start and stop their tasks by themselves. Private to
 * controller/engine.
 *
 * A framework's job stands in the same queues as others, and the same policies choose for it. What
 * differs:
 *  - a claim becomes an *allow* instead of a start (allow.h), and what its framework starts is
 *    *adopted*, wherever and whatever it is; nothing of it is ever ordered to start or stop;
 *  - stages with network input are *gated*: their tasks start where they are allowed, until the
 *    stage is opened (gate.h). For all others an allow is advice: they are accounted for;
 *  - it grows while it runs. Stages, tasks, blocks, bytes, starts and ends come as facts in any
 *    order and any number of times; each makes what it needs: the job, the stage, the tasks up to
 *    its own, an edge and the stage that it comes from. A stage that was only made so is ready when
 *    its framework says that it offers its tasks, or has announced it and its parents;
 *  - it has no failures that end it and no result: it is over when its framework says so.
 *
 * What a fact makes is bounded by framework_jobs_max, stages_per_job_max, stage_tasks_max,
 * tasks_max and the shares of whose it is (account.h); beyond, and for jobs that are over or ours,
 * facts are ignored and counted, and a stage that has no place is opened, so that its framework
 * places it. What was told of a task that nothing may be made of still counts as room that is
 * taken.
 *
 * Stages are numbered so that parents come before children. Tasks are partitions: a stage that is
 * run again for some of them has the number of tasks that it had. */
#pragma once

#include "controller/engine/base/state.h"

enum {
    FRAMEWORK_ATTEMPTS_MAX = 64, /* of a task, at a time; where accounts are kept */
};

/* Events. O(log n) plus what they make or change; FRAMEWORK_END: O(job). */
void framework_job(struct engine *engine, const struct event *event);
void framework_stage(struct engine *engine, const struct event *event);
void framework_tasks(struct engine *engine, const struct event *event);
void framework_started(struct engine *engine, const struct event *event);
void framework_done(struct engine *engine, const struct event *event);
void framework_end(struct engine *engine, const struct event *event);

/* What a fact speaks of, made if need be (a task: framework_grow.h); NULL: beyond a bound, or not a
 * framework's to say: the fact is counted as ignored. */
struct job *framework_find_job(struct engine *engine, uint64_t number);
struct stage *framework_find_stage(struct engine *engine, struct job *job, uint32_t index);
struct edge *framework_find_edge(struct engine *engine, struct stage *stage, uint32_t parent,
                                 enum edge_kind kind);
