/* Things by number, found in one look and walked in order of their numbers: for numbers that are
 * given one after the other. Private to controller/engine.
 *
 * NUMBERED_GROUP numbers that follow each other share a group; a table finds groups, and an ordered
 * set has their order. WHY beside sorted.h and table.h: a tree of all of them costs several cold
 * places in memory for each that comes and goes, one of groups a sixteenth of that.
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
/* The thing with the least number above `number`, which need not be there; NULL: no more. O(log
 * n). */
void *numbered_after(const struct numbered *set, uint64_t number);
/* Gives the memory back; the set is empty. */
void numbered_done(struct numbered *set);
