/* From numbers to things: a hash table for what is found by its number far more often than it is
 * walked in order. Private to controller/engine.
 *
 * WHY beside sorted.h: a cold tree of n nodes costs a cache miss per level, a look here one in all.
 * Nothing that is decided may depend on the order of table_next, which follows the table's history.
 *
 * A zeroed table is valid and empty. Numbers in one table differ. Open addressing, linear probing,
 * at most three quarters full. All operations O(1) but table_put where the table grows, and
 * table_next, O(slots) for all of them together. */
#pragma once

#include "controller/engine/base/state.h"

/* The thing, or NULL. */
void *table_find(const struct table *table, uint64_t number);
/* The number must not be there; the table borrows the thing, which is not NULL. */
void table_put(struct engine *engine, struct table *table, uint64_t number, void *thing);
/* The number must be there. */
void table_drop(struct table *table, uint64_t number);
/* The thing at or behind slot *at, and *at behind it; NULL: no more. The table must not change. */
void *table_next(const struct table *table, uint32_t *at);
/* The number of the thing that table_next returned with this *at. */
uint64_t table_number(const struct table *table, uint32_t at);
/* Gives the memory back; the table is empty. */
void table_done(struct table *table);
