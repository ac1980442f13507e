/* Ready tasks by their jobs' turns: sets per shape that policies choose from. Private to
 * controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Largest ready reduce task of the bucket; NULL: none. */
struct task *bucket_largest(struct engine *engine, const struct bucket *bucket);
/* A key of these sets changed for the bucket, apart from its ready tasks; for all buckets of the
 * job. */
void bucket_update(struct engine *engine, struct bucket *bucket);
void queues_reorder(struct engine *engine, struct job *job);

extern const struct listener queues_hears;
