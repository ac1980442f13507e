/* What an operator orders of a submitted job as a whole. Private to controller/engine.
 *
 * While a job is held none of its tasks starts; those that run go on, and their outputs stay. It is
 * the last in turn meanwhile, so no slot waits for it. Requeuing stops what runs of it by eviction
 * (books/eviction.h): such tasks are ready again, and what they did is lost.
 *
 * Rejected: UNKNOWN_JOB; BAD_STATE (it has not arrived completely; it is held already, or not
 * held); UNSUPPORTED of a framework's job, which starts its tasks by itself. */
#pragma once

#include "controller/engine/base/ground.h"

/* O(its ready tasks · log n). */
void job_hold(struct engine *engine, const struct event *event);
struct obstacle job_hold_obstacle(const struct engine *engine, const struct event *event);
/* Its tasks become ready in portions (books/stage.h). O(its stages · log n). */
void job_release(struct engine *engine, const struct event *event);
struct obstacle job_release_obstacle(const struct engine *engine, const struct event *event);
/* Attempts that cannot be evicted run on: their host is away, or a task that cannot be evicted
 * reads from theirs while they run. O(its attempts · log n). */
void job_requeue(struct engine *engine, const struct event *event);
struct obstacle job_requeue_obstacle(const struct engine *engine, const struct event *event);
