/* Submitted jobs: their arrival in parts, changes, cancellation. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Requests; a rejected one has a reason and changes nothing. */
void job_begin(struct engine *engine, const struct event *event);
void job_stage(struct engine *engine, const struct event *event);
void job_tasks(struct engine *engine, const struct event *event);
void job_bytes(struct engine *engine, const struct event *event);
void job_end(struct engine *engine, const struct event *event);
void job_update(struct engine *engine, const struct event *event);
void job_cancel(struct engine *engine, const struct event *event);
/* A fact. */
void job_profile(struct engine *engine, const struct event *event);
