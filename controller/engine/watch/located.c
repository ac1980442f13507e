#include "controller/engine/watch/located.h"

#include "controller/engine/base/ground.h"

#include <stdlib.h>
#include <string.h>

static int compare_refs(const struct local_ref *a, const struct local_ref *b)
{
    return a->task < b->task ? -1 : a->task > b->task;
}

static int compare_stages(const struct located *a, const struct located *b)
{
    return a->stage->index < b->stage->index ? -1 : a->stage->index > b->stage->index;
}

RB_GENERATE_INTERNAL(local_refs, local_ref, entry, compare_refs, __attribute__((unused)) static)
RB_GENERATE_INTERNAL(located_tree, located, on_local, compare_stages,
                     __attribute__((unused)) static)

struct located *located_on(const struct local_maps *local)
{
    return RB_MIN(located_tree, (struct located_tree *)(uintptr_t)&local->stages);
}

struct located *located_next(const struct located *located)
{
    return located_tree_RB_NEXT((struct located *)(uintptr_t)located);
}

struct local_ref *ref_next(const struct local_ref *ref)
{
    return local_refs_RB_NEXT((struct local_ref *)(uintptr_t)ref);
}

struct located *located_find(const struct local_maps *local, const struct stage *stage)
{
    struct located *at = RB_ROOT(&local->stages);
    while (at && at->stage != stage)
        at = stage->index < at->stage->index ? RB_LEFT(at, on_local) : RB_RIGHT(at, on_local);
    return at;
}

static struct located *find_memory(struct engine *engine, struct local_maps *local,
                                   struct stage *stage)
{
    struct located *located = stage->spare;
    if (!local->one.stage)
        return &local->one;
    if (located) {
        stage->spare = LIST_NEXT(located, of_memory);
        located->first = located->last = NULL;
        located->n = 0;
        memset(located->with_candidates, 0, sizeof(located->with_candidates));
        return located;
    }
    located = engine_allocate(engine, 1, sizeof(*located));
    LIST_INSERT_HEAD(&stage->located_memory, located, of_memory);
    return located;
}

struct located *located_get(struct engine *engine, struct local_maps *local, struct stage *stage)
{
    struct located *located = located_find(local, stage);
    if (located)
        return located;
    located = find_memory(engine, local, stage);
    located->local = local;
    located->stage = stage;
    RB_INIT(&located->refs);
    LIST_INSERT_HEAD(&stage->located, located, of_stage);
    RB_INSERT(located_tree, &local->stages, located);
    return located;
}

void located_end(struct located *located)
{
    struct local_maps *local = located->local;
    RB_REMOVE(located_tree, &local->stages, located);
    LIST_REMOVE(located, of_stage);
    if (located == &local->one) {
        *located = (struct located){0};
        return;
    }
    LIST_REMOVE(located, of_memory);
    free(located);
}

void located_forget(struct stage *stage)
{
    LIST_INIT(&stage->located);
    stage->spare = LIST_FIRST(&stage->located_memory);
}

/* WHY a case for the last: tasks become ready in order, except those that come back. */
void located_insert(struct located *located, struct local_ref *ref)
{
    struct local_ref *last = located->last;
    if (last && last->task < ref->task) {
        RB_SET(ref, last, entry);
        RB_RIGHT(last, entry) = ref;
        local_refs_RB_INSERT_COLOR(&located->refs, ref);
    } else {
        RB_INSERT(local_refs, &located->refs, ref);
    }
    if (!last || last->task < ref->task)
        located->last = ref;
    if (!located->first || ref->task < located->first->task)
        located->first = ref;
}

void located_remove(struct located *located, struct local_ref *ref)
{
    if (located->first == ref)
        located->first = local_refs_RB_NEXT(ref);
    if (located->last == ref)
        located->last = local_refs_RB_PREV(ref);
    RB_REMOVE(local_refs, &located->refs, ref);
}

struct task *located_with(const struct local_maps *local, uint32_t candidates)
{
    const struct located *located = located_on(local);
    while (!located->with_candidates[candidates])
        located = located_next(located);
    const struct local_ref *ref = located->first;
    while (ref_task(ref)->candidates != candidates)
        ref = ref_next(ref);
    return ref_task(ref);
}
