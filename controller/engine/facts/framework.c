#include "controller/engine/facts/framework.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/job_stages.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/limit.h"
#include "controller/engine/books/outputs.h"
#include "controller/engine/books/room.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/users.h"
#include "controller/engine/facts/attempts.h"
#include "controller/engine/facts/framework_grow.h"
#include "controller/engine/facts/framework_skip.h"
#include "controller/engine/facts/outcome.h"
#include "controller/engine/policy/policy.h"
#include "controller/engine/watch/allow.h"
#include "controller/engine/watch/estimate.h"
#include "controller/engine/watch/framework_sizes.h"
#include "controller/engine/watch/gate.h"
#include "controller/engine/watch/levels.h"
#include "controller/engine/watch/locality.h"
#include "controller/engine/watch/opened.h"
#include "controller/engine/watch/order.h"
#include "controller/engine/watch/refit.h"
#include "controller/engine/watch/source.h"

#include <stdlib.h>
#include <string.h>

static const struct resources one_slot = {{1}};

static void *ignored(struct engine *engine)
{
    engine->counters.ignored_facts++;
    return NULL;
}

/* A fact about it was refused for a bound, so the engine cannot place the stage: its framework
 * does. WHY each time: nothing is kept about a stage that is not kept. */
static void leave_stage(struct engine *engine, uint64_t number, uint32_t index)
{
    struct job *job = job_find(engine, number);
    struct stage *stage = job && job->framework ? job_stage_at(job, index) : NULL;
    if (!engine->over_share || !engine->config.memory_max || (job && !job->framework))
        return;
    if (stage && !stage->framework->left) {
        gate_open(engine, stage, REASON_TABLE_FULL, 0);
        return;
    }
    struct decision *open = engine_decide(engine, DECISION_OPEN, REASON_TABLE_FULL, 0, 0);
    open->open.job = number;
    open->open.stage = index;
}

struct job *framework_find_job(struct engine *engine, uint64_t number)
{
    struct job *job = job_find(engine, number);
    if (job)
        return job->framework ? job : ignored(engine);
    if (!number || job_find_finished(engine, number))
        return ignored(engine);
    struct account *account = account_of_application(engine, number >> ENGINE_APPLICATION_SHIFT);
    if (engine->framework_jobs >= engine->config.framework_jobs_max ||
        (!account && engine->jobs.n >= engine->config.jobs_max) ||
        !account_admits_job(engine, account))
        return framework_beyond(engine);
    job = job_make(engine, number);
    account_join(engine, job, account);
    users_join(engine, job, 0);
    job->framework = engine_allocate(engine, 1, sizeof(*job->framework));
    job->estimate_bytes = job->estimate_ns = -1;
    job->hosts = engine->joined ? engine->joined : 1;
    engine->framework_jobs++;
    estimate_submitted(engine, job);
    job_activate(engine, job);
    return job;
}

void framework_job(struct engine *engine, const struct event *event)
{
    struct job *job = framework_find_job(engine, event->framework_job.job);
    if (!job)
        return;
    const char *name = event->framework_job.name ? event->framework_job.name : "";
    size_t length = strnlen(name, sizeof(job->name) - 1);
    memset(job->name, 0, sizeof(job->name));
    memcpy(job->name, name, length);
    users_join(engine, job, event->framework_job.user);
    job->priority = event->framework_job.priority;
    order_change(engine, job);
    tell_priority_moved(engine, job);
}

static struct stage *make_stage(struct engine *engine, struct job *job, uint32_t index,
                                const struct resources *demand)
{
    bool apart = engine->suspended ? engine->next_apart : limit_binds(job->account);
    struct shape *shape = refit_shape(engine, job, apart, demand);
    engine->next_apart = false;
    if (!shape || !account_take(engine, job, ACCOUNT_STAGE))
        return framework_beyond(engine);
    struct stage *stage = engine_allocate(engine, 1, sizeof(*stage));
    stage->job = job;
    stage->first = stage;
    stage->bucket = job_bucket(engine, job, shape);
    stage->index = index;
    stage->tasks = engine_allocate(engine, 0, sizeof(*stage->tasks));
    stage->edges = engine_allocate(engine, 1, sizeof(*stage->edges));
    stage->children = engine_allocate(engine, 1, sizeof(*stage->children));
    TAILQ_INIT(&stage->attempts);
    stage->framework = engine_allocate(engine, 1, sizeof(*stage->framework));
    stage->framework->stage = stage;
    stage->framework->apart = apart;
    uint32_t place = job_stage_place(job, index);
    job->stages = engine_grow(engine, job->stages, job->n_stages);
    memmove(&job->stages[place + 1], &job->stages[place],
            (job->n_stages++ - place) * sizeof(job->stages[0]));
    job->stages[place] = stage;
    policy_begin_stage(engine, stage);
    return stage;
}

static struct stage *find_or_make(struct engine *engine, struct job *job, uint32_t index,
                                  const struct resources *demand)
{
    if (!job)
        return NULL;
    if (index >= engine->config.stages_per_job_max)
        return framework_beyond(engine);
    struct stage *stage = job_stage_at(job, index);
    return stage ? stage : make_stage(engine, job, index, demand);
}

struct stage *framework_find_stage(struct engine *engine, struct job *job, uint32_t index)
{
    return find_or_make(engine, job, index, &one_slot);
}

struct edge *framework_find_edge(struct engine *engine, struct stage *stage, uint32_t parent,
                                 enum edge_kind kind)
{
    for (uint32_t i = 0; stage && i < stage->n_edges; i++)
        if (stage->edges[i].parent == parent)
            return &stage->edges[i];
    struct stage *from = stage && parent < stage->index
                             ? framework_find_stage(engine, stage->job, parent)
                             : ignored(engine);
    if (!from)
        return NULL;
    if ((uint64_t)(stage->n_edges + 1) * framework_tasks_of(stage) > framework_work_max(engine) ||
        !account_take(engine, stage->job, ACCOUNT_EDGE))
        return framework_beyond(engine);
    struct edge *edges = reallocarray(stage->edges, stage->n_edges + 2, sizeof(*edges));
    if (!edges)
        longjmp(engine->no_memory, 1);
    stage->edges = edges;
    struct edge *edge = &stage->edges[stage->n_edges++];
    *edge = (struct edge){.parent = parent, .kind = kind, .late = late_make(engine)};
    uint32_t *children =
        reallocarray(from->children, from->n_children + 1, sizeof(*from->children));
    if (!children)
        longjmp(engine->no_memory, 1);
    from->children = children;
    if (!from->n_children)
        outputs_keep(engine, from);
    from->children[from->n_children++] = stage->index;
    return edge;
}

static bool is_valid(const struct event *event)
{
    bool valid = event->framework_stage.parents.n == event->framework_stage.edges.n &&
                 event->framework_stage.phase <= FRAMEWORK_SKIPPED;
    for (uint32_t i = 0; valid && i < event->framework_stage.parents.n; i++)
        valid = event->framework_stage.parents.at[i] < event->framework_stage.stage;
    for (int r = 0; r < ENGINE_RESOURCES; r++)
        valid = valid && event->framework_stage.demand.amount[r] >= 0;
    return valid;
}

/* Makes everything before it looks at any of it. */
static void announce(struct engine *engine, struct stage *stage, const struct event *event)
{
    struct framework_stage *own = stage->framework;
    uint32_t edges = stage->n_edges;
    for (uint32_t i = 0; i < event->framework_stage.parents.n; i++)
        framework_find_edge(engine, stage, event->framework_stage.parents.at[i],
                            event->framework_stage.edges.at[i] == EDGE_PIPELINED ? EDGE_PIPELINED
                                                                                 : EDGE_BARRIER);
    if (event->framework_stage.history)
        own->history = event->framework_stage.history;
    own->ungated = event->framework_stage.ungated;
    gate_let_bind(engine, stage, event->framework_stage.bindable);
    own->offered = event->framework_stage.phase == FRAMEWORK_OFFERED;
    if (event->framework_stage.tasks)
        growing_begin(engine, stage, event->framework_stage.tasks);
    own->apart = own->apart && (engine->suspended || limit_binds(stage->job->account));
    refit_demand(engine, stage, &event->framework_stage.demand);
    sizes_follow_parents(engine, stage);
    for (uint32_t i = 0; i < stage->n_children; i++)
        sizes_follow_parents(engine, job_stage_at(stage->job, stage->children[i]));
    if (stage->n_edges != edges || !stage->n_edges)
        tell_job_grew(engine, stage->job);
}

/* Looks at the stage and its children, which may become ready or blocked. */
static void look(struct engine *engine, struct stage *stage)
{
    if (engine->suspended)
        return;
    stage_open_if_due(engine, stage);
    stage_children_follow(engine, stage);
    opened_follow(engine, stage);
}

/* WHY a loaded stage begins with its demand: a shape of one slot that the dump does not have would
 * take a place, and replace those that nobody uses. */
void framework_stage(struct engine *engine, const struct event *event)
{
    engine->over_share = false;
    if (!is_valid(event)) {
        ignored(engine);
        return;
    }
    struct job *job = framework_find_job(engine, event->framework_stage.job);
    struct stage *stage =
        find_or_make(engine, job, event->framework_stage.stage,
                     engine->suspended ? &event->framework_stage.demand : &one_slot);
    if (!stage) {
        leave_stage(engine, event->framework_stage.job, event->framework_stage.stage);
        return;
    }
    announce(engine, stage, event);
    if (event->framework_stage.phase == FRAMEWORK_SKIPPED)
        skipping_begin(engine, stage);
    look(engine, stage);
    estimate_follow_job(engine, job);
    leave_stage(engine, event->framework_stage.job, event->framework_stage.stage);
}

void framework_grow(struct engine *engine, const struct event *event)
{
    engine->over_share = false;
    struct job *job = framework_find_job(engine, event->framework_grow.job);
    struct stage *stage = framework_find_stage(engine, job, event->framework_grow.stage);
    if (stage)
        growing_reach(engine, stage, event->framework_grow.tasks);
}

/* Its framework will not start it away from its block: withdraws allows there, for others' sake. */
static void withdraw_off_block(struct engine *engine, const struct task *task)
{
    const uint32_t *replicas = task_replicas(task);
    for (struct attempt *allow = task->attempts; allow; allow = allow->next_of_task) {
        bool known = false, there = false;
        for (uint32_t i = 0; i < task_n_replicas(task); i++) {
            known |= replicas[i] != ENGINE_NONE;
            there |= replicas[i] == allow->host->index;
        }
        if (allow->allowed_until_ns && known && !there)
            allow_withdraw(engine, allow, REASON_NO_BLOCK_THERE);
    }
}

/* A ready task leaves the queues meanwhile, since its inputs decide its place in them. */
static void set_task(struct engine *engine, struct task *task, const struct event *event,
                     uint32_t i)
{
    uint32_t per = event->job_tasks.replicas_per_task;
    struct stage *stage = task->stage;
    const bool ready = task_state(task) == TASK_READY;
    const int64_t ready_ns = task->ready_ns;
    if (ready)
        task_unqueue(engine, task, TASK_BLOCKED);
    tell_task_counts(engine, task, false);
    task_count_sums(task, -1);
    stage->framework->input += event->job_tasks.input_bytes.at[i];
    stage->framework->input -= task->input_bytes;
    task->input_bytes = event->job_tasks.input_bytes.at[i];
    task->compute_ns = event->job_tasks.compute_ns.at[i];
    if (per)
        memcpy(stage->replicas + (size_t)task->index * per,
               event->job_tasks.replicas.at + (size_t)i * per, per * sizeof(uint32_t));
    task_count_sums(task, 1);
    tell_task_counts(engine, task, true);
    if (ready) {
        task_queue(engine, task);
        task->ready_ns = ready_ns;
    }
    if (per)
        withdraw_off_block(engine, task);
}

/* Nobody told where the blocks of these tasks are. */
static void no_replicas(struct stage *stage, uint32_t from, uint32_t to)
{
    const size_t per = stage->replicas_per_task;
    if (stage->replicas)
        memset(stage->replicas + from * per, 0xff, (to - from) * per * sizeof(*stage->replicas));
}

void framework_tasks(struct engine *engine, const struct event *event)
{
    uint32_t n = event->job_tasks.compute_ns.n, per = event->job_tasks.replicas_per_task,
             first = event->job_tasks.first;
    engine->over_share = false;
    struct job *job = framework_find_job(engine, event->job_tasks.job);
    struct stage *stage = framework_find_stage(engine, job, event->job_tasks.stage);
    if (!stage || !n)
        return;
    if (event->job_tasks.input_bytes.n != n || per > ENGINE_REPLICAS_MAX ||
        event->job_tasks.replicas.n != (uint64_t)n * per || n > FRAMEWORK_TASKS_MAX ||
        first > FRAMEWORK_TASKS_MAX || (stage->replicas && per != stage->replicas_per_task) ||
        !framework_find_task(engine, stage, first + n - 1)) {
        ignored(engine);
        leave_stage(engine, event->job_tasks.job, event->job_tasks.stage);
        return;
    }
    struct gate_clock clock = gate_stop(engine, stage);
    bool open = stage->open;
    if (!engine_follows(engine, RULE_PIECES))
        stage_close(engine, stage);
    if (per && !stage->replicas) {
        stage->replicas =
            engine_allocate(engine, (size_t)stage->framework->room * per, sizeof(uint32_t));
        stage->replicas_per_task = per;
        no_replicas(stage, 0, stage->tasks_given);
    }
    if (stage->tasks_given < first + n) {
        no_replicas(stage, stage->tasks_given, first + n);
        stage->tasks_given = first + n;
    }
    for (uint32_t i = 0; i < n; i++)
        set_task(engine, &stage->tasks[first + i], event, i);
    if (open)
        stage_open_if_due(engine, stage);
    gate_go_on(engine, stage, clock);
    tell_job_grew(engine, job);
    estimate_follow_job(engine, job);
}

/* The task's own allows, except the settled one, wait for a start that will not come. */
static void withdraw_others(struct engine *engine, struct task *task, const struct attempt *used)
{
    for (struct attempt *other = task->attempts; other; other = other->next_of_task)
        if (other->allowed_until_ns && other != used)
            allow_withdraw(engine, other, REASON_ELSEWHERE);
}

/* Everything but its state is as the allow said. */
static void inherit(struct engine *engine, struct attempt *attempt, const struct attempt *used)
{
    attempt->reason = used->reason;
    attempt->left = used->left;
    attempt->right = used->right;
    if (used->task == attempt->task && used->host == attempt->host)
        source_set_block(engine, attempt, used->block_host);
}

static bool same_levels(const struct attempt *a, const struct attempt *b)
{
    return a->level[ORDER_COFLOW] == b->level[ORDER_COFLOW] &&
           a->level[ORDER_MACROFLOW] == b->level[ORDER_MACROFLOW];
}

/* WHY the attempt is made before the allow ends: policies that count receivers see no gap. */
static void join(struct engine *engine, struct attempt *attempt, struct attempt *used,
                 uint64_t received_bytes)
{
    struct stage *stage = attempt->task->stage;
    if (used)
        inherit(engine, attempt, used);
    attempt_set_sizes(engine, attempt);
    attempt_set_receiving(engine, attempt,
                          attempt->remote_bytes > 0 && attempt->state != ATTEMPT_COMPUTING);
    if (attempt->task->bytes > 0 && (!used || !same_levels(attempt, used)))
        attempt_tell_levels(engine, attempt);
    withdraw_others(engine, attempt->task, used);
    if (used) {
        struct host *host = used->host;
        allow_settle(engine, used, attempt);
        host_touch(engine, host);
    } else {
        engine->counters.granted_unasked++;
    }
    attempt_count_bytes(engine, attempt, received_bytes);
    gate_seen(engine, stage);
}

/* What it takes of the host. WHY at most half of what is free, if it was neither allowed nor has
 * room of its own executors: only its framework reports that it runs there, and others must keep
 * something. */
static struct resources taken(const struct engine *engine, const struct event *event,
                              const struct host *host, bool allowed)
{
    const struct resources *free = &host_own_unit(host, event->framework_task.unit)->free;
    const uint64_t application = event->framework_task.job >> ENGINE_APPLICATION_SHIFT;
    bool bounded = engine->config.memory_max && !allowed && !room_find(host, application) &&
                   !room_find(host, ENGINE_EVERYBODY);
    struct resources resources = event->framework_task.resources;
    for (int r = 0; r < ENGINE_RESOURCES; r++) {
        int64_t most = !bounded ? INT64_MAX : free->amount[r] > 0 ? free->amount[r] / 2 : 0;
        int64_t amount = resources.amount[r] > 0 ? resources.amount[r] : 0;
        resources.amount[r] = amount < most ? amount : most;
    }
    return resources;
}

static void adopt(struct engine *engine, const struct event *event, struct host *host)
{
    struct job *job = framework_find_job(engine, event->framework_task.job);
    struct stage *stage = framework_find_stage(engine, job, event->framework_task.stage);
    struct task *task = framework_find_task(engine, stage, event->framework_task.task);
    bool over = task && task_state(task) == TASK_DONE;
    struct attempt *used =
        allow_used_by(engine, over ? NULL : task, host, event->framework_task.allow);
    struct resources resources = taken(engine, event, host, used != NULL);
    if (task && !over)
        task_run(engine, task);
    struct attempt *attempt =
        attempt_create(engine, event->framework_task.attempt, over ? NULL : task, host,
                       event->framework_task.unit, &resources);
    attempt->foreign = true;
    attempt->job_number = event->framework_task.job;
    attempt->stage_index = event->framework_task.stage;
    attempt->task_index = event->framework_task.task;
    attempt_set_state(engine, attempt, attempt_seen_phase(event->framework_task.phase));
    account_join_attempt(engine, attempt);
    room_enter(engine, attempt);
    if (attempt->task)
        join(engine, attempt, used, event->framework_task.received_bytes);
    host_touch(engine, host);
}

/* WHY: a task has a few attempts at a time, and a host half of those that it may run; further
 * reports are ignored, and the other half is for what is allowed or started. */
static bool is_crowded(struct engine *engine, const struct event *event)
{
    const struct host *host = cluster_host(engine, event->framework_task.host);
    const struct task *task = job_find_task(
        engine, event->framework_task.job, event->framework_task.stage, event->framework_task.task);
    const struct attempt *attempt = task ? task->attempts : NULL;
    uint32_t n = 0;
    for (; attempt && n < FRAMEWORK_ATTEMPTS_MAX; attempt = attempt->next_of_task)
        n++;
    return engine->config.memory_max &&
           (n == FRAMEWORK_ATTEMPTS_MAX || (host && engine->config.host_attempts_max &&
                                            host->running >= engine->config.host_attempts_max / 2));
}

void framework_started(struct engine *engine, const struct event *event)
{
    uint64_t number = event->framework_task.attempt;
    bool known =
        number && engine->config.framework_jobs_max && !attempt_is_ours(engine, number) &&
        (attempt_find(engine, number) ||
         (!is_crowded(engine, event) && account_admits_attempt(engine, event->framework_task.job)));
    struct attempt *attempt = known ? attempt_find(engine, number) : NULL;
    struct host *host =
        known && !attempt ? cluster_adopt(engine, event->framework_task.host) : NULL;
    if (!known)
        ignored(engine);
    else if (attempt)
        attempt_follow(engine, attempt, attempt_seen_phase(event->framework_task.phase),
                       event->framework_task.received_bytes);
    else if (host)
        adopt(engine, event, host);
}

void framework_done(struct engine *engine, const struct event *event)
{
    struct attempt *attempt = attempt_find(engine, event->framework_task.attempt);
    if (attempt && attempt->foreign && !attempt->allowed_until_ns) {
        outcome_done(engine, attempt, event->framework_task.received_bytes);
        return;
    }
    uint32_t index = event->framework_task.host;
    struct job *job = framework_find_job(engine, event->framework_task.job);
    struct stage *stage = framework_find_stage(engine, job, event->framework_task.stage);
    struct task *task = framework_find_task(engine, stage, event->framework_task.task);
    struct host *host = task && index != ENGINE_NONE ? cluster_adopt(engine, index) : NULL;
    if (!task || task_state(task) == TASK_DONE)
        return;
    outcome_accept(engine, task, event->framework_task.attempt, host);
    gate_seen(engine, stage);
}

void framework_end(struct engine *engine, const struct event *event)
{
    struct job *job = job_find(engine, event->framework_end.job);
    if (!job || !job->framework) {
        ignored(engine);
        return;
    }
    if (event->framework_end.outcome == JOB_DONE)
        job_finish(engine, job);
    else
        job_fail(engine, job,
                 event->framework_end.outcome == JOB_CANCELLED ? REASON_CANCELLED
                                                               : REASON_JOB_FAILED,
                 NULL, 0, 0);
}
