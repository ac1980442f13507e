#include "controller/engine/watch/located.h"

#include "controller/engine/base/ground.h"

#include <stdlib.h>
#include <string.h>

static int compare_stages(const struct located *a, const struct located *b)
{
    return a->stage->index < b->stage->index ? -1 : a->stage->index > b->stage->index;
}

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
    TAILQ_INIT(&located->refs);
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

/* WHY from both ends: tasks become ready in order, and those that come back were among the first to
 * start. */
void located_insert(struct located *located, struct local_ref *ref)
{
    struct local_ref *after = TAILQ_FIRST(&located->refs),
                     *before = TAILQ_LAST(&located->refs, local_refs);
    while (before && before->task > ref->task && after->task < ref->task) {
        before = TAILQ_PREV(before, local_refs, link);
        after = TAILQ_NEXT(after, link);
    }
    if (!before)
        TAILQ_INSERT_HEAD(&located->refs, ref, link);
    else if (before->task < ref->task)
        TAILQ_INSERT_AFTER(&located->refs, before, ref, link);
    else
        TAILQ_INSERT_BEFORE(after, ref, link);
}

struct task *located_with(const struct local_maps *local, uint32_t candidates)
{
    const struct located *located = located_on(local);
    while (!located->with_candidates[candidates])
        located = located_next(located);
    const struct local_ref *ref = TAILQ_FIRST(&located->refs);
    while (ref_task(ref)->candidates != candidates)
        ref = TAILQ_NEXT(ref, link);
    return ref_task(ref);
}
