#include "controller/engine/base/table.h"

#include "controller/engine/base/ground.h"
#include "lib/invariant.h"

#include <stdlib.h>

struct table_slot {
    uint64_t number;
    void *thing; /* NULL: free */
};

enum { BITS_LEAST = 3 };

static uint32_t slots_of(const struct table *table)
{
    return table->slots ? UINT32_C(1) << table->bits : 0;
}

/* Fibonacci hashing spreads successive numbers. */
static uint32_t home_of(const struct table *table, uint64_t number)
{
    return (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - table->bits));
}

static uint32_t after(const struct table *table, uint32_t at)
{
    return (at + 1) & (slots_of(table) - 1);
}

/* Where the number is, or the free slot where it would be. */
static uint32_t slot_of(const struct table *table, uint64_t number)
{
    uint32_t at = home_of(table, number);
    while (table->slots[at].thing && table->slots[at].number != number)
        at = after(table, at);
    return at;
}

void *table_find(const struct table *table, uint64_t number)
{
    return table->n ? table->slots[slot_of(table, number)].thing : NULL;
}

static void grow(struct engine *engine, struct table *table)
{
    struct table old = *table;
    uint32_t at = 0, bits = old.slots ? old.bits + 1 : BITS_LEAST;
    table->slots = engine_allocate(engine, (size_t)1 << bits, sizeof(*table->slots));
    table->bits = bits;
    while (table_next(&old, &at))
        table->slots[slot_of(table, old.slots[at - 1].number)] = old.slots[at - 1];
    free(old.slots);
}

void table_put(struct engine *engine, struct table *table, uint64_t number, void *thing)
{
    if (table->n >= slots_of(table) / 4 * 3)
        grow(engine, table);
    table->slots[slot_of(table, number)] = (struct table_slot){number, thing};
    table->n++;
}

/* Moves up entries that were put behind the slot because it was taken, so that no hole ends a
 * search. */
void table_drop(struct table *table, uint64_t number)
{
    uint32_t hole = slot_of(table, number), last = slots_of(table) - 1;
    for (uint32_t at = after(table, hole); table->slots[at].thing; at = after(table, at)) {
        uint32_t home = home_of(table, table->slots[at].number);
        if (((at - home) & last) < ((at - hole) & last))
            continue;
        table->slots[hole] = table->slots[at];
        hole = at;
    }
    table->slots[hole] = (struct table_slot){0};
    assert(table->n > 0);
    table->n--;
}

void *table_next(const struct table *table, uint32_t *at)
{
    while (*at < slots_of(table))
        if (table->slots[(*at)++].thing)
            return table->slots[*at - 1].thing;
    return NULL;
}

uint64_t table_number(const struct table *table, uint32_t at)
{
    return table->slots[at - 1].number;
}

void table_done(struct table *table)
{
    free(table->slots);
    *table = (struct table){0};
}
