/* A map from numbers to things, for numbers that are given one after the other: found in O(1),
 * walked in order. Private to controller/engine.
 *
 * NUMBERED_GROUP successive numbers share a group; a table finds groups, an ordered set has their
 * order. WHY not sorted.h or table.h: a tree of all things costs several cache misses for each that
 * comes and goes; a tree of groups costs a sixteenth of that.
 *
 * A zeroed set is valid and empty. It borrows the things. */
#pragma once

#include "controller/engine/base/state.h"

/* The thing, or NULL. O(1). */
void *numbered_find(const struct numbered *set, uint64_t number);
/* The number must not be there; the thing is not NULL. O(1), O(log n) for the first of a group. */
void numbered_put(struct engine *engine, struct numbered *set, uint64_t number, void *thing);
/* The number must be there. O(1), O(log n) for the last of a group. */
void numbered_drop(struct numbered *set, uint64_t number);
/* The thing with the least number above `number`, which need not be in the set; NULL: none. O(log
 * n). */
void *numbered_after(const struct numbered *set, uint64_t number);
/* Frees the memory; the set is then empty. */
void numbered_done(struct numbered *set);
