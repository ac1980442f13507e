#include "controller/engine/books/removal.h"

#include "controller/engine/base/packed.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/eviction.h"
#include "controller/engine/books/late.h"
#include "lib/invariant.h"

#include <stdlib.h>

/* Tasks and other pieces of memory freed at once: about 0.1 ms; and what freeing one costs, in
 * looks at a task. */
enum { PORTION = 1024, FREEING = 4 };

/* Frees the last tasks. WHY an array that shrinks: pages of a large one go back as it does. */
static void tasks_shrink(struct stage *stage, bool begun, uint32_t *left)
{
    uint32_t n = stage->n_tasks, until = n > *left ? n - *left : 0;
    /* WHY not of a job that never began (assembly.h): to look at a task that nobody made would
     * make its page. */
    for (uint32_t t = until; begun && t < n; t++) {
        free(stage->tasks[t].refs);
        free(stage->tasks[t].retry);
        free(stage->tasks[t].reruns);
    }
    *left -= n - until;
    stage->n_tasks = until;
    struct task *shrunk = until ? realloc(stage->tasks, until * sizeof(*stage->tasks)) : NULL;
    stage->tasks = shrunk ? shrunk : stage->tasks;
}

/* True: all of it is freed. */
static bool located_shrink(struct stage *stage, uint32_t *left)
{
    struct located *located;
    while (*left && (located = LIST_FIRST(&stage->located_memory))) {
        --*left;
        LIST_REMOVE(located, of_memory);
        free(located);
    }
    return LIST_EMPTY(&stage->located_memory);
}

/* Its last way but the first. */
static void variant_shrink(struct stage *stage, uint32_t *left)
{
    struct stage *other = stage->others[stage->n_others - 1];
    if (other->n_tasks)
        tasks_shrink(other, stage->children, left);
    if (other->n_tasks || !located_shrink(other, left))
        return;
    free(other->tasks);
    free(other);
    stage->n_others--;
}

/* True: all of it is freed. */
static bool stage_shrink(struct stage *stage, uint32_t *left)
{
    while (stage->n_others && *left)
        variant_shrink(stage, left);
    while (stage->n_edges && *left)
        if (packed_shrink(&stage->edges[stage->n_edges - 1].bytes, left) &&
            late_shrink(&stage->edges[stage->n_edges - 1].late, left))
            stage->n_edges--;
    if (stage->n_tasks && *left)
        tasks_shrink(stage, stage->children, left);
    if (stage->n_others || stage->n_edges || stage->n_tasks || !located_shrink(stage, left) ||
        !*left)
        return false;
    --*left;
    free(stage->edges);
    free(stage->children);
    free(stage->replicas);
    free(stage->refusal);
    free(stage->wishes);
    free(stage->tasks);
    free(stage);
    return true;
}

static bool shrink(struct engine *engine, struct job *job, uint32_t *left)
{
    uint64_t most = job->removed_bytes, some = (uint64_t)PORTION * ACCOUNT_TASK;
    some = some < most ? some : most;
    assert(engine->removed_bytes >= job->removed_bytes);
    job->removed_bytes -= some;
    engine->removed_bytes -= some;
    if (!eviction_shrink(job, left))
        return false;
    while (job->n_stages && stage_shrink(job->stages[job->n_stages - 1], left))
        job->n_stages--;
    if (job->n_stages)
        return false;
    engine->removed_bytes -= job->removed_bytes;
    free(job->holder);
    free(job->stages);
    free(job);
    return true;
}

static bool job_shrink(struct engine *engine, struct job *job)
{
    uint32_t left = PORTION;
    const bool all = shrink(engine, job, &left);
    engine->step_freed += (uint64_t)FREEING * (PORTION - left);
    return all;
}

void removal_begin(struct engine *engine, struct job *job)
{
    engine->removed_bytes += job->removed_bytes = job->counted;
    if (!job_shrink(engine, job))
        TAILQ_INSERT_TAIL(&engine->removed, job, of_removed);
}

bool removal_go_on(struct engine *engine)
{
    struct job *job = TAILQ_FIRST(&engine->removed), *next;
    if (!job)
        return false;
    next = TAILQ_NEXT(job, of_removed);
    TAILQ_REMOVE(&engine->removed, job, of_removed);
    if (!job_shrink(engine, job))
        TAILQ_INSERT_HEAD(&engine->removed, job, of_removed);
    else if (!next)
        return false;
    return true;
}

uint64_t engine_removed_bytes(const struct engine *engine)
{
    return engine->removed_bytes;
}

uint64_t engine_tidies(const struct engine *engine)
{
    const struct job *job = TAILQ_FIRST(&engine->removed);
    return job ? job->number >> ENGINE_APPLICATION_SHIFT : 0;
}

bool engine_tidy(struct engine *engine)
{
    return removal_go_on(engine);
}
