/* Building blocks of a graph's tables: arrays that count their bytes, lists that grow, and
 * blocks of halves by size class.
 *
 * Internal to this folder, below graph.h: a graph is only handed on. No function searches; a
 * list grows by half, so adding is O(1) amortised. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mincost;

/* realloc that keeps m->bytes; NULL and the old array untouched when memory is short. */
void *memory_resize(struct mincost *m, void *array, size_t old_count, size_t new_count,
                    size_t size);

/* memory_trim gives back what only a start from nothing needs; memory_trim_touched the list of what
 * a round changed, once it is not asked for any more. */
void memory_trim(struct mincost *m);
void memory_trim_touched(struct mincost *m);

/* An array of *allocated items becomes half as long again. 0, or −ENOMEM, which m->failed keeps. */
int memory_grow(struct mincost *m, void **items, uint32_t *allocated, size_t size);

/* Blocks of the pool by size class. `ret_start` is set; 0 or −ENOMEM. */
enum { SIZE_CLASSES = 128 };
int block_take(struct mincost *m, uint8_t size_class, uint32_t *ret_start);
void block_give(struct mincost *m, uint8_t size_class, uint32_t start);
uint32_t block_size(uint8_t size_class);

struct u32_list {
    uint32_t *items;
    uint32_t count, allocated;
};

static inline void list_add(struct mincost *m, struct u32_list *list, uint32_t item)
{
    if (list->count == list->allocated &&
        memory_grow(m, (void **)&list->items, &list->allocated, sizeof *list->items))
        return;
    list->items[list->count++] = item;
}
