/* A binary min-heap of numbers with an id each, from which any id can be removed or moved.
 *
 * The caller's table, indexed by id, has the place of each id; many heaps may share one table as
 * long as no id is in two of them. Equal keys leave in order of ids, so the output depends only on
 * the content. Push, take and move cost O(log n); the top costs nothing. Memory: 16 bytes an entry.
 * No locking. */
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

/* All of these update where[id]; `where` may be NULL if only push and pop are ever used. Without
 * memory push returns −ENOMEM and changes nothing. */
int heap_push(struct heap *h, uint32_t *where, double key, uint32_t id);
struct heap_item heap_pop(struct heap *h, uint32_t *where);   /* n > 0 */
void heap_take(struct heap *h, uint32_t *where, uint32_t id); /* id is in h */
/* Gives `id` this key: pushes or moves it, or removes it for an infinite key. */
int heap_set(struct heap *h, uint32_t *where, double key, uint32_t id);
void heap_done(struct heap *h); /* frees the items and empties it */
