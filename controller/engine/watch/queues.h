/* Ready tasks by their jobs' turns: sets per shape that policies choose from. Private to
 * controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Largest ready reduce task of the bucket; NULL: none. */
struct task *bucket_largest(struct engine *engine, const struct bucket *bucket);
/* Is it the turn of the one? Of two of one job, one of which has a stage that can run in several
 * ways, that of the bucket whose next task lists it sooner. O(1). */
bool bucket_is_sooner(const struct bucket *a, const struct bucket *b);
/* A key of these sets changed for the bucket, apart from its ready tasks; for all buckets of the
 * job. */
void bucket_update(struct engine *engine, struct bucket *bucket);
void queues_reorder(struct engine *engine, struct job *job);

extern const struct listener queues_hears;
