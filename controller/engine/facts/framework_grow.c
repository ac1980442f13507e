#include "controller/engine/facts/framework_grow.h"

#include "controller/engine/base/backlog.h"
#include "controller/engine/base/ground.h"
#include "controller/engine/base/job_stages.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/policy/policy.h"
#include "controller/engine/watch/estimate.h"
#include "controller/engine/watch/framework_sizes.h"
#include "controller/engine/watch/gate.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAKING = 4, /* what making a task costs, in looks at one */
    MANY = 4096,
    ROOM_OF_MANY = 16 /* times as many tasks as that */
};

void *framework_beyond(struct engine *engine)
{
    engine->over_share = true;
    engine->counters.ignored_facts++;
    return NULL;
}

uint64_t framework_work_max(const struct engine *engine)
{
    return engine->config.stage_tasks_max ? 4 * (uint64_t)engine->config.stage_tasks_max
                                          : UINT64_MAX;
}

static uint32_t tasks_max(const struct engine *engine)
{
    uint32_t most = engine->config.stage_tasks_max;
    return most && most < FRAMEWORK_TASKS_MAX ? most : FRAMEWORK_TASKS_MAX;
}

/* Allocates memory for more tasks and moves those that are there; ready ones leave their queues
 * meanwhile. While a dump is loaded none is ready yet, and the stage stays as it was. */
static void move_tasks(struct engine *engine, struct stage *stage, uint32_t room)
{
    struct framework_stage *own = stage->framework;
    bool open = stage->open && !engine->suspended;
    struct gate_clock clock = gate_stop(engine, stage);
    if (open)
        stage_close(engine, stage);
    struct task *tasks = engine_allocate(engine, room, sizeof(*tasks));
    memcpy(tasks, stage->tasks, stage->n_tasks * sizeof(*tasks));
    struct attempt *attempt;
    TAILQ_FOREACH (attempt, &stage->attempts, of_stage)
        attempt->task = &tasks[attempt->task_index];
    free(stage->tasks);
    stage->tasks = tasks;
    uint32_t per = stage->replicas_per_task;
    if (per) {
        uint32_t *replicas = engine_allocate(engine, (size_t)room * per, sizeof(*replicas));
        memcpy(replicas, stage->replicas, (size_t)stage->tasks_given * per * sizeof(*replicas));
        free(stage->replicas);
        stage->replicas = replicas;
    }
    policy_grow_stage(engine, stage, stage->n_tasks, room);
    own->room = room;
    if (open)
        stage_open_if_due(engine, stage);
    gate_go_on(engine, stage, clock);
}

/* Makes room for twice as many tasks as before, or for n if the account has no more. */
static bool make_charged_room(struct engine *engine, struct stage *stage, uint32_t n)
{
    uint32_t before = stage->framework->room, room = n > 2 * before ? n : 2 * before;
    if (!account_admits(engine, stage->job, (uint64_t)ACCOUNT_TASK * (room - before)))
        room = n;
    if (!account_take(engine, stage->job, (uint64_t)ACCOUNT_TASK * (room - before)))
        return false;
    move_tasks(engine, stage, room);
    return true;
}

/* WHY so much for many tasks: untouched memory costs nothing, and moving many tasks blocks all
 * other work. */
static void make_room(struct engine *engine, struct stage *stage, uint32_t n)
{
    uint32_t before = stage->framework->room, most = tasks_max(engine);
    uint64_t room = n >= MANY ? (uint64_t)n * ROOM_OF_MANY : 2 * (uint64_t)before;
    room = room < most ? room : most;
    move_tasks(engine, stage, room > n ? (uint32_t)room : n);
}

static bool take_room(struct engine *engine, struct stage *stage, uint32_t n)
{
    uint32_t room = stage->framework->room, more = n - framework_tasks_of(stage);
    if (!engine_follows(engine, RULE_GROWS))
        return n <= room || make_charged_room(engine, stage, n);
    if (!account_take(engine, stage->job, (uint64_t)ACCOUNT_TASK * more))
        return false;
    if (n > room)
        make_room(engine, stage, n);
    return true;
}

/* Admits n tasks: counts them and makes room. */
static bool admit(struct engine *engine, struct stage *stage, uint32_t n)
{
    uint32_t before = framework_tasks_of(stage), more = n - before;
    if (n <= before)
        return true;
    if (n > tasks_max(engine) || (uint64_t)n * stage->n_edges > framework_work_max(engine) ||
        !account_admits_tasks(engine, stage->job, more) || !take_room(engine, stage, n))
        return framework_beyond(engine);
    stage->job->n_tasks += more;
    engine->n_tasks += more;
    engine->framework_tasks += more;
    stage->framework->told = n;
    return true;
}

static void begin_task(struct engine *engine, struct stage *stage, uint32_t index)
{
    struct task *task = &stage->tasks[index];
    task->stage = stage;
    task->index = index;
    task->done_host = ENGINE_NONE;
    sizes_begin_task(engine, task);
    task_count_sums(task, 1);
    tell_task_counts(engine, task, true);
}

/* Makes tasks up to n of those that are admitted. */
static void grow(struct engine *engine, struct stage *stage, uint32_t n)
{
    uint32_t before = stage->n_tasks;
    if (n <= before)
        return;
    if (before && stage->n_done == before)
        stage->job->stages_done--;
    stage->n_tasks = n;
    engine_fault_in(stage->tasks + before, (n - before) * sizeof(*stage->tasks));
    for (uint32_t i = before; i < n; i++)
        begin_task(engine, stage, i);
    if (engine_follows(engine, RULE_GROWS))
        engine->step_looks += (uint64_t)MAKING * (n - before);
    sizes_follow_tasks(engine, stage, before);
    if (engine->suspended)
        return;
    stage_reopen(engine, stage);
    stage_children_follow(engine, stage);
}

struct task *framework_find_task(struct engine *engine, struct stage *stage, uint32_t index)
{
    if (!stage || index == UINT32_MAX)
        return NULL;
    if (index >= stage->n_tasks && !admit(engine, stage, index + 1))
        return NULL;
    grow(engine, stage, index + 1);
    return &stage->tasks[index];
}

static void wait_for_rest(struct engine *engine, struct stage *stage, bool wait)
{
    struct sorted_key key = {stage->job->number, stage->index, 0};
    if (wait)
        sorted_place(&engine->growing, &stage->framework->of_growing, key, 0);
    else
        sorted_remove(&engine->growing, &stage->framework->of_growing);
}

static uint32_t as_many_as_may_be(const struct engine *engine, uint32_t more)
{
    uint64_t looks = engine_looks_left(engine);
    bool all = !engine_follows(engine, RULE_GROWS) || looks / MAKING >= more;
    return all ? more : (uint32_t)(looks / MAKING);
}

/* True: all reported tasks are made. */
static bool grow_some(struct engine *engine, struct stage *stage)
{
    struct framework_stage *own = stage->framework;
    uint32_t more = framework_tasks_of(stage) - stage->n_tasks;
    grow(engine, stage, stage->n_tasks + as_many_as_may_be(engine, more));
    bool all = stage->n_tasks >= own->told;
    wait_for_rest(engine, stage, !all);
    own->announced |= all && own->announces;
    return all;
}

void growing_begin(struct engine *engine, struct stage *stage, uint32_t n)
{
    stage->framework->announces = true;
    admit(engine, stage, n);
    grow_some(engine, stage);
}

/* All of its tasks are made, those that were reported last in a later step. */
static void grown(struct engine *engine, struct stage *stage)
{
    sizes_follow_parents(engine, stage);
    for (uint32_t i = 0; i < stage->n_children; i++)
        sizes_follow_parents(engine, job_stage_at(stage->job, stage->children[i]));
    tell_job_grew(engine, stage->job);
    stage_open_if_due(engine, stage);
    stage_children_follow(engine, stage);
    estimate_follow_job(engine, stage->job);
}

void growing_reach(struct engine *engine, struct stage *stage, uint32_t n)
{
    if (n <= stage->n_tasks || !admit(engine, stage, n))
        return;
    if (grow_some(engine, stage))
        grown(engine, stage);
}

void growing_go_on(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = backlog_first(engine, &engine->growing)) && engine_may_look(engine)) {
        struct stage *stage = container_of(node, struct framework_stage, of_growing)->stage;
        if (!grow_some(engine, stage))
            return;
        grown(engine, stage);
    }
}

enum engine_growth engine_growth(const struct engine *engine, uint64_t number, uint32_t index,
                                 uint64_t tasks)
{
    const uint64_t at_once = (uint64_t)engine->config.step_tasks_max * LOOKS_OF_CHANGE / MAKING;
    struct job *job = job_find(engine, number);
    const struct stage *stage = job && job->framework ? job_stage_at(job, index) : NULL;
    const bool may_grow = job ? !!job->framework : !job_find_finished(engine, number);
    if (!at_once || !may_grow || tasks > tasks_max(engine) ||
        tasks <= (stage ? stage->n_tasks : 0) + at_once)
        return GROWTH_NEAR;
    return stage && stage->framework->told >= tasks ? GROWTH_UNDER_WAY : GROWTH_FAR;
}

bool growing_restore(struct engine *engine, struct stage *stage, uint32_t told, bool announces)
{
    stage->framework->announces = announces;
    if (told <= stage->n_tasks || !admit(engine, stage, told))
        return false;
    wait_for_rest(engine, stage, true);
    return true;
}
