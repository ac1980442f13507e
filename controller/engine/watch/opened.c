#include "controller/engine/watch/opened.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/job_stages.h"

static bool has_parents(const struct stage *stage)
{
    bool all = true;
    for (uint32_t i = 0; i < stage->n_edges; i++) {
        const struct stage *parent = job_stage_at(stage->job, stage->edges[i].parent);
        bool barrier = stage->edges[i].kind == EDGE_BARRIER;
        all = all && (barrier ? parent->n_done : parent->n_started) == parent->n_tasks;
    }
    return all;
}

static bool counts(const struct stage *stage)
{
    const struct framework_stage *own = stage->framework;
    bool waits = stage->n_started < stage->n_tasks || stage->n_started < own->told;
    return own->left && waits && stage->job->state == JOB_ACTIVE && has_parents(stage);
}

static void list(struct engine *engine, const struct job *job)
{
    struct framework_job *own = job->framework;
    if (own->n_opened)
        sorted_place(&engine->opened, &own->of_opened, job->turn, 0);
    else
        sorted_remove(&engine->opened, &own->of_opened);
}

void opened_follow(struct engine *engine, struct stage *stage)
{
    bool counted = stage->framework->opened;
    stage->framework->opened = counts(stage);
    if (stage->framework->opened == counted)
        return;
    stage->job->framework->n_opened += counted ? -1u : 1;
    list(engine, stage->job);
}

const struct sorted_key *opened_first(const struct engine *engine)
{
    const struct sorted_node *node = sorted_first(&engine->opened);
    return node ? &node->key : NULL;
}

static void task_moved(struct engine *engine, struct task *task, enum task_state before)
{
    struct stage *stage = task->stage;
    (void)before;
    if (!stage->framework)
        return;
    opened_follow(engine, stage);
    for (uint32_t i = 0; i < stage->n_children; i++)
        opened_follow(engine, job_stage_at(stage->job, stage->children[i]));
}

static void job_grew(struct engine *engine, struct job *job)
{
    for (uint32_t s = 0; job->framework && s < job->n_stages; s++)
        opened_follow(engine, job->stages[s]);
}

static void turn_moved(struct engine *engine, struct job *job, bool passed)
{
    (void)passed;
    if (job->framework)
        list(engine, job);
}

static void job_withdrawn(struct engine *engine, struct job *job)
{
    if (job->framework)
        sorted_remove(&engine->opened, &job->framework->of_opened);
}

const struct listener opened_hears = {.task_moved = task_moved,
                                      .job_grew = job_grew,
                                      .turn_moved = turn_moved,
                                      .job_withdrawn = job_withdrawn};
