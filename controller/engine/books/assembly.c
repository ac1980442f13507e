#include "controller/engine/books/assembly.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/packed.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/variant.h"

#include <errno.h>
#include <stdlib.h>

void assembly_make_task(struct stage *stage, uint32_t index)
{
    struct task *task = &stage->tasks[index];
    task->stage = stage;
    task->index = index;
    task->done_host = ENGINE_NONE;
}

static void count(struct job *job, struct stage *stage, const struct task *task)
{
    stage->total_bytes += task->bytes;
    job->shuffle_bytes += task->bytes;
    job->left_bytes += task->bytes;
    const uint64_t work_ns = variant_work_ns(task);
    job->left_ns += work_ns;
    job->maps += !task->bytes;
    job->maps_ns += task->bytes ? 0 : work_ns;
    if (task->input_bytes > job->largest_input)
        job->largest_input = task->input_bytes;
}

static void fault_in(struct stage *stage, uint32_t first, uint64_t most)
{
    uint64_t rest = stage->n_tasks - first;
    engine_fault_in(stage->tasks + first, (rest < most ? rest : most) * sizeof(*stage->tasks));
}

/* The first pass: each task, made unless it was made before. */
static bool make_tasks(struct job *job, uint64_t *left)
{
    struct assembly *a = job->assembly;
    for (; a->stage < job->n_stages; a->stage++, a->task = 0) {
        struct stage *stage = job->stages[a->stage];
        fault_in(stage, a->task, *left);
        for (; a->task < stage->n_tasks && *left; a->task++, --*left) {
            struct task *task = &stage->tasks[a->task];
            if (!task->stage)
                assembly_make_task(stage, a->task);
            variant_make_task(stage, a->task);
            count(job, stage, task);
        }
        if (a->task < stage->n_tasks)
            return false;
    }
    return true;
}

/* How often each remainder occurs when the edge's sums are split evenly over the maps. */
static bool split_sums(struct engine *engine, const struct stage *stage, const struct edge *edge,
                       uint32_t maps, uint64_t *left)
{
    struct assembly *a = stage->job->assembly;
    if (!a->remainders)
        a->remainders = engine_allocate(engine, maps, sizeof(*a->remainders));
    for (; a->task < stage->n_tasks && *left; a->task++, --*left) {
        uint64_t bytes = packed_at(edge->bytes, a->task);
        a->part += bytes / maps;
        a->remainders[bytes % maps]++;
    }
    return a->task == stage->n_tasks;
}

/* Gives each map one byte more for each remainder that reaches it. */
static bool spread_sums(struct assembly *a, struct stage *parent, uint64_t *left)
{
    for (; a->map < parent->n_tasks && *left; a->map++, --*left) {
        uint32_t m = parent->n_tasks - 1 - a->map;
        parent->tasks[m].output_bytes += a->part + a->reached;
        a->reached += a->remainders[m];
    }
    return a->map == parent->n_tasks;
}

static bool add_edge(struct engine *engine, struct stage *stage, const struct edge *edge,
                     uint64_t *left)
{
    struct assembly *a = stage->job->assembly;
    struct stage *parent = stage->job->stages[edge->parent];
    if (!edge->bytes || edge->matrix)
        return true;
    if (!split_sums(engine, stage, edge, parent->n_tasks, left) || !spread_sums(a, parent, left))
        return false;
    free(a->remainders);
    a->remainders = NULL;
    a->task = a->map = 0;
    a->part = a->reached = 0;
    return true;
}

/* The second pass: each edge given as sums. */
static bool add_edges(struct engine *engine, struct job *job, uint64_t *left)
{
    struct assembly *a = job->assembly;
    for (; a->child < job->n_stages; a->child++, a->edge = 0) {
        struct stage *stage = job->stages[a->child];
        for (; a->edge < stage->n_edges; a->edge++)
            if (!add_edge(engine, stage, &stage->edges[a->edge], left))
                return false;
    }
    return true;
}

bool assembly_go_on(struct engine *engine, struct job *job, uint64_t most)
{
    uint64_t left = most;
    if (!job->assembly)
        job->assembly = engine_allocate(engine, 1, sizeof(*job->assembly));
    return make_tasks(job, &left) && add_edges(engine, job, &left);
}

bool assembly_begun(const struct job *job)
{
    return job->assembly;
}

bool assembly_has_counted(const struct stage *stage, uint32_t task)
{
    const struct assembly *a = stage->job->assembly;
    return stage->job->state == JOB_ACTIVE ||
           (a && (stage->index < a->stage || (stage->index == a->stage && task < a->task)));
}

void assembly_forget(struct job *job)
{
    if (job->assembly)
        free(job->assembly->remainders);
    free(job->assembly);
    job->assembly = NULL;
}

void assembly_end(struct engine *engine, struct job *job)
{
    assembly_forget(job);
    for (uint32_t s = 0; s < job->n_stages; s++) {
        struct stage *stage = job->stages[s];
        stage->parents_missing = stage->n_edges;
        stage->children = engine_allocate(engine, job->n_stages - s, sizeof(uint32_t));
        for (uint32_t i = 0; i < stage->n_edges; i++) {
            struct stage *parent = job->stages[stage->edges[i].parent];
            parent->children[parent->n_children++] = s;
        }
    }
}

int engine_prepare(struct engine *engine, uint64_t number, uint64_t most)
{
    struct job *job = job_find(engine, number);
    if (!job || job->state != JOB_ARRIVING || (!assembly_begun(job) && !job_is_complete(job)))
        return 0;
    if (setjmp(engine->no_memory))
        return -ENOMEM;
    return !assembly_go_on(engine, job, most);
}
