/* Submitted jobs: their arrival in parts, changes, cancellation. Private to controller/engine. */
#pragma once

#include "controller/engine/base/ground.h"

/* Requests; a rejected one has a reason and changes nothing. An obstacle is what would reject one
 * that has no part of a job. */
void job_begin(struct engine *engine, const struct event *event);
void job_stage(struct engine *engine, const struct event *event);
void job_tasks(struct engine *engine, const struct event *event);
void job_bytes(struct engine *engine, const struct event *event);
void job_end(struct engine *engine, const struct event *event);
void job_update(struct engine *engine, const struct event *event);
struct obstacle job_update_obstacle(const struct engine *engine, const struct event *event);
void job_cancel(struct engine *engine, const struct event *event);
struct obstacle job_cancel_obstacle(const struct engine *engine, const struct event *event);
/* A fact. */
void job_profile(struct engine *engine, const struct event *event);
