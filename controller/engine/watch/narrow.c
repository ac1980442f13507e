#include "controller/engine/watch/narrow.h"

#include "controller/engine/base/tell.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/users.h"

#include <stdio.h>
#include <string.h>

/* The bucket is empty meanwhile: its stages are closed, and open again where they were. What they
 * wait for ends when it would have. */
static void put(struct engine *engine, struct job *job, struct shape *shape)
{
    struct bucket *bucket = job->buckets[0];
    bucket->shape->users--;
    shape->users++;
    tell_job_leaves(engine, job);
    for (uint32_t s = 0; s < job->n_stages; s++) {
        int64_t due_ns = job->stages[s]->hold_due_ns;
        stage_close(engine, job->stages[s]);
        job->stages[s]->hold_due_ns = due_ns;
    }
    bucket->shape = shape;
    bucket->queues = users_queues(engine, job->tenant, shape);
    for (uint32_t s = 0; s < job->n_stages; s++)
        stage_open_if_due(engine, job->stages[s]);
}

static bool move(struct engine *engine, struct job *job, const char *constraint)
{
    const struct shape *before = job->buckets[0]->shape;
    const struct shape_of of = {before->application, before->bound};
    const struct resources demand = before->demand;
    struct shape *shape = cluster_shape(engine, &demand, constraint, &of, job->account);
    if (shape)
        put(engine, job, shape);
    return shape;
}

bool narrow_begin(struct engine *engine, struct job *job, const char *rack)
{
    char constraint[CONSTRAINT_MAX];
    struct err err = {0};
    int length = snprintf(constraint, sizeof(constraint), "rack=%s", rack);
    bool fits = length < (int)sizeof(constraint) && constraint_check(constraint, &err) == 0;
    if (!fits || job->n_buckets != 1 || *job->buckets[0]->shape->constraint ||
        engine->n_shapes > engine->config.shapes_max / 2)
        return false;
    job->narrowed = move(engine, job, constraint);
    return job->narrowed;
}

void narrow_end(struct engine *engine, struct job *job)
{
    if (job->narrowed && move(engine, job, ""))
        job->narrowed = false;
}

void narrow_end_all(struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->active); node; node = sorted_next(node))
        narrow_end(engine, container_of(node, struct job, by_turn));
}
