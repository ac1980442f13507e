/* A hash table from numbers to things, for what is found by its number far more often than walked
 * in order. Private to controller/engine.
 *
 * WHY not sorted.h: a cold tree of n nodes costs a cache miss per level, a table one in all. No
 * decision may depend on the order of table_next, which follows the table's history.
 *
 * A zeroed table is valid and empty. Numbers in one table differ. Open addressing, linear probing,
 * at most three quarters full. All operations are O(1) except a table_put that grows the table, and
 * table_next, O(slots) for a whole walk. */
#pragma once

#include "controller/engine/base/state.h"

/* The thing, or NULL. */
void *table_find(const struct table *table, uint64_t number);
/* The number must not be there; the table borrows the thing, which is not NULL. */
void table_put(struct engine *engine, struct table *table, uint64_t number, void *thing);
/* The number must be there. */
void table_drop(struct table *table, uint64_t number);
/* The thing at or behind slot *at, with *at moved behind it; NULL: no more. The table must not
 * change meanwhile. */
void *table_next(const struct table *table, uint32_t *at);
/* The number of the thing that table_next returned with this *at. */
uint64_t table_number(const struct table *table, uint32_t at);
/* Frees the memory; the table is then empty. */
void table_done(struct table *table);
