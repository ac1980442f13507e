#include "controller/frameworks/stage_names.h"

#include <stdio.h>
#include <stdlib.h>

static int compare(struct stage_name *a, struct stage_name *b)
{
    if (a->job != b->job)
        return a->job < b->job ? -1 : 1;
    return (a->stage > b->stage) - (a->stage < b->stage);
}

RB_PROTOTYPE(stage_name_tree, stage_name, node, compare)
RB_GENERATE(stage_name_tree, stage_name, node, compare)

/* WHY the cast: a search does not change the tree. */
static struct stage_name *find(const struct stage_names *names, uint64_t job, uint32_t stage)
{
    struct stage_name key = {.job = job, .stage = stage};
    return RB_FIND(stage_name_tree, (struct stage_name_tree *)(uintptr_t)&names->tree, &key);
}

static struct stage_name *add(struct stage_names *names, uint64_t job, uint32_t stage)
{
    struct stage_name *name = names->n < STAGE_NAMES_MAX ? calloc(1, sizeof(*name)) : NULL;
    if (!name)
        return NULL;
    name->job = job;
    name->stage = stage;
    RB_INSERT(stage_name_tree, &names->tree, name);
    names->n++;
    return name;
}

void stage_names_put(struct stage_names *names, uint64_t job, uint32_t stage, uint32_t id,
                     uint32_t attempt, const char *text)
{
    struct stage_name *name = find(names, job, stage);
    if (!name)
        name = add(names, job, stage);
    if (!name)
        return;
    name->id = id;
    name->attempt = attempt;
    snprintf(name->text, sizeof(name->text), "%s", text);
}

const struct stage_name *stage_names_find(const struct stage_names *names, uint64_t job,
                                          uint32_t stage)
{
    return find(names, job, stage);
}

static void drop(struct stage_names *names, struct stage_name *name)
{
    RB_REMOVE(stage_name_tree, &names->tree, name);
    names->n--;
    free(name);
}

void stage_names_forget(struct stage_names *names, uint64_t job)
{
    struct stage_name first = {.job = job};
    struct stage_name *name = RB_NFIND(stage_name_tree, &names->tree, &first);
    while (name && name->job == job) {
        struct stage_name *next = RB_NEXT(stage_name_tree, &names->tree, name);
        drop(names, name);
        name = next;
    }
}

void stage_names_clear(struct stage_names *names)
{
    struct stage_name *name, *next;
    RB_FOREACH_SAFE (name, stage_name_tree, &names->tree, next)
        drop(names, name);
}
