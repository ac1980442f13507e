/* A binary min-heap of numbers with an id each, from which any id can be taken out or moved.
 *
 * Where an id stands is kept in a table of the caller, indexed by id, so that many heaps may share
 * one table as long as no id is in two of them. Equal keys leave in order of ids: what comes out
 * depends only on what is inside. Push, take and move cost O(log n); the top costs nothing. Memory:
 * 16 bytes an entry. No locking. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_item {
    double key;
    uint32_t id;
};

struct heap {
    struct heap_item *items; /* owned; items[0] is the least while n > 0 */
    uint32_t n, allocated;
};

enum { HEAP_NOWHERE = UINT32_MAX }; /* in the caller's table: this id is in no heap */

/* All of these keep where[id] up to date; `where` may be NULL if only push and pop are ever used.
 * Push returns −ENOMEM and changes nothing when there is no memory. */
int heap_push(struct heap *h, uint32_t *where, double key, uint32_t id);
struct heap_item heap_pop(struct heap *h, uint32_t *where);   /* n > 0 */
void heap_take(struct heap *h, uint32_t *where, uint32_t id); /* id is in h */
/* Pushes, moves or, for an infinite key, takes out, whatever is needed for `id` to stand here with
 * `key`. */
int heap_set(struct heap *h, uint32_t *where, double key, uint32_t id);
void heap_done(struct heap *h); /* frees the items and empties it */
