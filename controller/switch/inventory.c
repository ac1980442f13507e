#include "controller/switch/inventory.h"

#include "lib/invariant.h"

#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000

/* Its place, or the place where it belongs. */
static uint32_t place_of(const struct inventory *inventory, const char *name)
{
    uint32_t low = 0, high = inventory->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(inventory->switches[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct inventory_switch *at(const struct inventory *inventory, uint32_t place,
                                   const char *name)
{
    struct inventory_switch *one = place < inventory->n ? inventory->switches[place] : NULL;
    return one && strcmp(one->name, name) == 0 ? one : NULL;
}

const struct inventory_switch *inventory_find(const struct inventory *inventory, const char *name)
{
    return at(inventory, place_of(inventory, name), name);
}

static struct inventory_switch *find_or_add(struct inventory *inventory, const char *name)
{
    uint32_t place = place_of(inventory, name);
    struct inventory_switch *one = at(inventory, place, name);
    if (one)
        return one;
    one = calloc(1, sizeof(*one));
    struct inventory_switch **switches =
        one ? reallocarray(inventory->switches, inventory->n + 1, sizeof(*switches)) : NULL;
    if (!switches) {
        free(one);
        return NULL;
    }
    inventory->switches = switches;
    memmove(switches + place + 1, switches + place, (inventory->n - place) * sizeof(*switches));
    switches[place] = one;
    inventory->n++;
    strncpy(one->name, name, sizeof(one->name) - 1);
    return one;
}

/* Adds rows to an array of `*n`, of which `most` are kept. */
static void append(void **array, uint32_t *n, uint32_t most, const void *rows, uint32_t more,
                   size_t size)
{
    assert(*n <= most);
    more = more < most - *n ? more : most - *n;
    void *grown = more ? reallocarray(*array, *n + more, size) : NULL;
    if (!grown)
        return;
    *array = grown;
    memcpy((char *)grown + *n * size, rows, more * size);
    *n += more;
}

void inventory_take(struct inventory *inventory, const char *name, int64_t now_ns,
                    const duopoly_SwitchPart *part)
{
    struct inventory_switch *one = find_or_add(inventory, name);
    if (!one)
        return;
    if (part->part == 0) {
        one->ports_n = one->steps_n = 0;
        one->head = *part;
        one->head.port_rows_count = one->head.step_rows_count = 0;
        one->told_ns = now_ns;
    }
    append((void **)&one->ports, &one->ports_n, INVENTORY_PORTS, part->port_rows,
           part->port_rows_count, sizeof(*one->ports));
    append((void **)&one->steps, &one->steps_n, INVENTORY_STEPS, part->step_rows,
           part->step_rows_count, sizeof(*one->steps));
}

static void free_switch(struct inventory_switch *one)
{
    free(one->ports);
    free(one->steps);
    free(one);
}

void inventory_forget(struct inventory *inventory, const char *name)
{
    uint32_t place = place_of(inventory, name);
    struct inventory_switch *one = at(inventory, place, name);
    if (!one)
        return;
    free_switch(one);
    inventory->n--;
    memmove(inventory->switches + place, inventory->switches + place + 1,
            (inventory->n - place) * sizeof(inventory->switches[0]));
}

void inventory_done(struct inventory *inventory)
{
    for (uint32_t i = 0; i < inventory->n; i++)
        free_switch(inventory->switches[i]);
    free(inventory->switches);
    *inventory = (struct inventory){0};
}

int64_t inventory_differs_ns(const struct inventory_switch *one, int64_t now_ns)
{
    return one->head.differs_ns < 0 ? -1 : one->head.differs_ns + (now_ns - one->told_ns);
}

uint32_t inventory_confirm_s(const struct inventory_switch *one, int64_t now_ns)
{
    int64_t left = (int64_t)one->head.confirm_s - (now_ns - one->told_ns) / SECOND;
    return left > 0 ? (uint32_t)left : 0;
}
