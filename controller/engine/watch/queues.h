/* Ready tasks by their jobs' turns: sets per shape that policies choose from. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Brings the indexes of the ready queues up to date: after the job's turn changed; after something
 * of the bucket did. */
void job_reorder(struct engine *engine, struct job *job);
void bucket_update(struct engine *engine, struct bucket *bucket);

/* Largest ready reduce task of the bucket; NULL: none. */
struct task *bucket_largest(struct engine *engine, const struct bucket *bucket);
