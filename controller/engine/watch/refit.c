#include "controller/engine/watch/refit.h"

#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/limit.h"
#include "controller/engine/books/room.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/watch/gate.h"

struct shape *refit_shape(struct engine *engine, struct job *job, bool apart,
                          const struct resources *demand)
{
    const struct shape_of of = {room_owner(engine, job), limit_of_shape(engine, job, apart)};
    return cluster_shape(engine, demand, "", &of, job->account);
}

/* The stage's maps run on another kind of slot from now on. */
void refit_demand(struct engine *engine, struct stage *stage, const struct resources *demand)
{
    struct shape *shape = refit_shape(engine, stage->job, stage->framework->apart, demand);
    if (!shape)
        engine->counters.ignored_facts++;
    if (!shape || shape == stage->bucket->shape)
        return;
    struct gate_clock clock = gate_stop(engine, stage);
    bool open = stage->open;
    stage_close(engine, stage);
    stage->bucket = job_bucket(engine, stage->job, shape);
    if (open)
        stage_open_if_due(engine, stage);
    gate_go_on(engine, stage, clock);
}

void refit_stage(struct engine *engine, struct stage *stage)
{
    const struct resources demand = stage->bucket->shape->demand;
    refit_demand(engine, stage, &demand);
}
