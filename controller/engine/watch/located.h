/* A host's ready maps of one bucket, next to whose blocks it is, by their stages (struct located).
 * Private to controller/engine/watch and controller/engine/place.
 *
 * They are apart by stage because a stage's ready tasks leave together when it closes: each host
 * then drops what it has of that stage, without a look at the tasks. */
#pragma once

#include "controller/engine/base/state.h"

/* Of the bucket's stages with such maps there: the first by index, the next, this one. NULL: there
 * is none. O(log stages). */
struct located *located_on(const struct local_maps *local);
struct located *located_next(const struct located *located);
struct located *located_find(const struct local_maps *local, const struct stage *stage);
/* Those of the stage, made if there are none yet: a ref is to be inserted. O(log stages). */
struct located *located_get(struct engine *engine, struct local_maps *local, struct stage *stage);
/* They left, one by one or together. O(log stages). */
void located_end(struct located *located);
/* The stage's left all hosts, which are gone themselves: its memory waits for others, or for the
 * job's end (removal.h). O(1). */
void located_forget(struct stage *stage);

/* Puts the ref into its place among those of its stage, without counting it. O(tasks there between
 * its place and the nearer end). */
void located_insert(struct located *located, struct local_ref *ref);
/* The first task there with so many candidates; there is one. O(stages, and tasks before it of its
 * stage). */
struct task *located_with(const struct local_maps *local, uint32_t candidates);

/* The ready map that a ref is of; the first of the stage's there. O(1). */
static inline struct task *ref_task(const struct local_ref *ref)
{
    return &ref->located->stage->tasks[ref->task];
}
static inline struct task *located_first(const struct located *located)
{
    return ref_task(TAILQ_FIRST(&located->refs));
}
