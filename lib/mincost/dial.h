/* A queue of nodes by small distances: a list for each of the keys below DIAL_KEYS, and a bit that
 * tells whether it holds anything. The last one put in leaves first among equals. Keys must not be
 * less than the one last taken. 8 bytes for each of the most that were ever in it at once. O(1),
 * but for DIAL_KEYS / 64 words to look at. */
#pragma once

#include "lib/mincost/memory.h"

#include <stdbool.h>

#define NO_NODE 0u

enum { DIAL_KEYS = 1024 };

struct dial_entry {
    uint32_t node, next; /* index + 1 */
};

struct dial {
    uint32_t first[DIAL_KEYS]; /* index + 1, or 0 */
    uint64_t used[DIAL_KEYS / 64];
    uint32_t word; /* no lower one is used */
    struct dial_entry *items;
    uint32_t spare; /* head of the list of entries that were taken, as in `first` */
    uint32_t count, allocated;
};

/* `m` counts its memory. */
static inline void dial_put(struct mincost *m, struct dial *dial, uint32_t key, uint32_t node)
{
    uint32_t i = dial->spare;
    if (i) {
        dial->spare = dial->items[i - 1].next;
    } else {
        if (dial->count == dial->allocated &&
            memory_grow(m, (void **)&dial->items, &dial->allocated, sizeof *dial->items))
            return;
        i = ++dial->count;
    }
    dial->items[i - 1] = (struct dial_entry){node, dial->first[key]};
    dial->first[key] = i;
    dial->used[key / 64] |= UINT64_C(1) << key % 64;
}

static inline bool dial_take(struct dial *dial, uint32_t *ret_key, uint32_t *ret_node)
{
    while (dial->word < DIAL_KEYS / 64 && !dial->used[dial->word])
        dial->word++;
    if (dial->word == DIAL_KEYS / 64)
        return false;
    uint32_t key = dial->word * 64 + (uint32_t)__builtin_ctzll(dial->used[dial->word]);
    uint32_t i = dial->first[key];
    struct dial_entry *entry = &dial->items[i - 1];
    *ret_key = key;
    *ret_node = entry->node;
    dial->first[key] = entry->next;
    if (!entry->next)
        dial->used[dial->word] &= ~(UINT64_C(1) << key % 64);
    entry->next = dial->spare;
    dial->spare = i;
    return true;
}

static inline uint32_t dial_peek(const struct dial *dial, uint32_t key)
{
    uint32_t i = dial->first[key];
    return i ? dial->items[i - 1].node : NO_NODE;
}

static inline void dial_clear(struct dial *dial)
{
    for (uint32_t word = dial->word; word < DIAL_KEYS / 64; word++)
        for (; dial->used[word]; dial->used[word] &= dial->used[word] - 1)
            dial->first[word * 64 + (uint32_t)__builtin_ctzll(dial->used[word])] = 0;
    dial->word = dial->count = dial->spare = 0;
}
