#include "controller/engine/books/outputs.h"

#include "controller/engine/base/backlog.h"
#include "controller/engine/base/ground.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/spread.h"

static void hold(struct engine *engine, struct job *job, struct host *host, bool add)
{
    spread_output(engine, job, host, add);
    job->output_changes++;
    tell_job_on_host(engine, job, host);
    tell_outputs_moved(engine, job);
}

void outputs_hold(struct engine *engine, const struct task *task, struct host *host, bool add)
{
    const struct framework_stage *own = task->stage->framework;
    bool later = own && own->of_keeping.in && task->index >= own->kept;
    if (task->stage->n_children && !later)
        hold(engine, task->stage->job, host, add);
}

static bool may_keep(const struct engine *engine)
{
    return !engine_follows(engine, RULE_KEEPS_WAIT) || engine_may_look(engine);
}

static void keep_some(struct engine *engine, struct stage *stage)
{
    uint32_t t = stage->framework->kept;
    for (; t < stage->n_tasks && may_keep(engine); t++) {
        struct host *host = cluster_host(engine, stage->tasks[t].done_host);
        bool is_there = task_state(&stage->tasks[t]) == TASK_DONE && host;
        engine->counters.visits++;
        if (is_there)
            hold(engine, stage->job, host, true);
        if (engine_follows(engine, RULE_KEEPS_WAIT))
            engine->step_looks += is_there ? 1 + LOOKS_OF_CHANGE : 1;
    }
    outputs_restore(engine, stage, t);
}

void outputs_keep(struct engine *engine, struct stage *stage)
{
    stage->framework->kept = 0;
    if (stage->n_done)
        keep_some(engine, stage);
}

void outputs_go_on(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = backlog_first(engine, &engine->keeping)) && engine_may_look(engine))
        keep_some(engine, container_of(node, struct framework_stage, of_keeping)->stage);
}

void outputs_restore(struct engine *engine, struct stage *stage, uint32_t next)
{
    struct framework_stage *own = stage->framework;
    struct sorted_key key = {stage->job->number, stage->index, 0};
    own->kept = next;
    if (next < stage->n_tasks)
        sorted_place(&engine->keeping, &own->of_keeping, key, 0);
    else
        sorted_remove(&engine->keeping, &own->of_keeping);
}
