/* Ready tasks by their jobs' turns: sets per shape that policies choose from. Private to
 * controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Ready maps by stage and index: the bucket's first one; the next of the bucket; the stage's first
 * one. NULL: none. O(1), the next one O(log n). */
struct task *bucket_first_map(const struct bucket *bucket);
struct task *bucket_next_map(const struct task *map);
struct task *stage_first_map(const struct stage *stage);
/* Such without a block. */
struct task *bucket_first_unlocated(const struct bucket *bucket);
struct task *stage_first_unlocated(const struct stage *stage);
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
