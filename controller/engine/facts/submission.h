/* Jobs that are submitted: how they arrive in parts, change and are cancelled. Private to
 * controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Requests; rejected with a reason, then nothing has changed. */
void job_begin(struct engine *engine, const struct event *event);
void job_stage(struct engine *engine, const struct event *event);
void job_tasks(struct engine *engine, const struct event *event);
void job_bytes(struct engine *engine, const struct event *event);
void job_end(struct engine *engine, const struct event *event);
void job_update(struct engine *engine, const struct event *event);
void job_cancel(struct engine *engine, const struct event *event);
