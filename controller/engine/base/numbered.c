#include "controller/engine/base/numbered.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/table.h"
#include "lib/invariant.h"

#include <stdlib.h>

enum { NUMBERED_GROUP = 16 };

struct group {
    void *at[NUMBERED_GROUP]; /* NULL: none */
    uint32_t n;
    struct sorted_node by_number; /* numbered.order */
};

static struct group *group_of(const struct numbered *set, uint64_t number)
{
    return table_find(&set->groups, number / NUMBERED_GROUP);
}

void *numbered_find(const struct numbered *set, uint64_t number)
{
    const struct group *group = group_of(set, number);
    return group ? group->at[number % NUMBERED_GROUP] : NULL;
}

static struct group *make(struct engine *engine, struct numbered *set, uint64_t number)
{
    struct group *group = engine_allocate(engine, 1, sizeof(*group));
    struct sorted_key key = {number / NUMBERED_GROUP, 0, 0};
    table_put(engine, &set->groups, key.a, group);
    sorted_insert(&set->order, &group->by_number, key, 0);
    return group;
}

void numbered_put(struct engine *engine, struct numbered *set, uint64_t number, void *thing)
{
    struct group *group = group_of(set, number);
    if (!group)
        group = make(engine, set, number);
    group->at[number % NUMBERED_GROUP] = thing;
    group->n++;
    set->n++;
}

void numbered_drop(struct numbered *set, uint64_t number)
{
    struct group *group = group_of(set, number);
    group->at[number % NUMBERED_GROUP] = NULL;
    assert(set->n > 0);
    set->n--;
    if (--group->n)
        return;
    table_drop(&set->groups, number / NUMBERED_GROUP);
    sorted_remove(&set->order, &group->by_number);
    free(group);
}

static void *first_from(const struct sorted_node *node, uint64_t number)
{
    if (!node)
        return NULL;
    const struct group *group = container_of(node, struct group, by_number);
    for (uint64_t i = node->key.a * NUMBERED_GROUP < number ? number % NUMBERED_GROUP : 0;
         i < NUMBERED_GROUP; i++)
        if (group->at[i])
            return group->at[i];
    return first_from(sorted_next(node), number);
}

void *numbered_after(const struct numbered *set, uint64_t number)
{
    if (number == UINT64_MAX)
        return NULL;
    number++;
    const struct group *group = group_of(set, number);
    struct sorted_key key = {number / NUMBERED_GROUP, 0, 0};
    return first_from(group ? &group->by_number : sorted_from(&set->order, key), number);
}

void numbered_done(struct numbered *set)
{
    for (struct sorted_node *node = sorted_first(&set->order); node;
         node = sorted_first(&set->order)) {
        sorted_remove(&set->order, node);
        free(container_of(node, struct group, by_number));
    }
    table_done(&set->groups);
    *set = (struct numbered){0};
}
