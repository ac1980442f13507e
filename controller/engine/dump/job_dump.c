/* Jobs in a dump: the events that made them, then what changed since, and the records of ended
 * jobs. */
#include "controller/engine/base/ground.h"
#include "controller/engine/base/packed.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/books/wishes.h"
#include "controller/engine/dump/dump.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/locality.h"
#include "controller/engine/watch/refusal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct job_record {
    uint64_t job;
    uint32_t state;
    int64_t submitted_ns, slot_wait_ns;
    uint64_t estimate_key;
    uint64_t map_share; /* former */
    uint32_t hosts;
};
struct stage_record {
    uint64_t job;
    uint32_t stage;
    bool open, coflow_fixed, held, overdue;
    uint64_t coflow_bytes, received_bytes;
    uint64_t received_level; /* former */
    enum reason hold_reason;
    int64_t hold_left, hold_right, held_since_ns, held_until_ns, hold_due_ns;
    uint32_t opening; /* one more than the number of its tasks that were looked at; 0: it is not
                         opening */
    /* Of a refused claim; all 0 without one */
    enum reason refusal_reason;
    int64_t refusal_left, refusal_right, refusal_since_ns, refusal_due_ns;
    uint32_t variant; /* of another than the first only what is held of it */
};
struct task_record {
    uint64_t job;
    uint32_t stage, task, state, failures, done_host;
    uint64_t done_attempt;
    int64_t ready_ns, started_ns;
};
/* Derives the rest from the tasks that are done, for a job without stage records: the store keeps
 * only its submission and which tasks are done. */
struct resume_record {
    uint64_t job;
    int64_t slot_wait_ns;
};
DUMP_FITS(struct job_record);
DUMP_FITS(struct stage_record);
DUMP_FITS(struct task_record);
DUMP_FITS(struct finished);

static int load_job(struct engine *engine, const void *object, struct err *err)
{
    const struct job_record *record = object;
    struct job *job = job_find(engine, record->job);
    if (!job || record->state > JOB_ACTIVE || job->state == JOB_ACTIVE ||
        (record->state == JOB_ACTIVE && !job_is_complete(job)))
        return err_set(err, EINVAL,
                       "job %" PRIu64 " lacks parts, comes twice, or has a state that a live job "
                       "cannot have",
                       record->job);
    if (record->state == JOB_ACTIVE && at_most_first(job) != job->n_stages &&
        !engine->place->at_most)
        return err_set(err, EINVAL,
                       "job %" PRIu64
                       " has at_most, which place %s cannot keep: configure one that "
                       "does, such as the one under which it came",
                       record->job, engine->place->policy.name);
    job->submitted_ns = record->submitted_ns;
    job->slot_wait_ns = record->slot_wait_ns;
    job->estimate_key = record->estimate_key;
    job->hosts = record->hosts;
    if (record->state == JOB_ACTIVE) {
        if (!job->hosts)
            job->hosts = locality_hosts_of_share(job, record->map_share);
        job_assemble(engine, job);
        job_activate(engine, job);
    }
    return 0;
}

static void load_hold(struct stage *stage, const struct stage_record *record)
{
    stage->held = record->held;
    stage->overdue = record->overdue;
    stage->hold_reason = record->hold_reason;
    stage->hold_left = record->hold_left;
    stage->hold_right = record->hold_right;
    stage->held_since_ns = record->held_since_ns;
    stage->held_until_ns = record->held_until_ns;
}

static int load_stage(struct engine *engine, const void *object, struct err *err)
{
    const struct stage_record *record = object;
    struct task *first = job_find_task(engine, record->job, record->stage, 0);
    if (!first || first->stage->job->state != JOB_ACTIVE ||
        record->variant > first->stage->n_others)
        return err_set(err, EINVAL, "stage %u of job %" PRIu64 " is not there", record->stage,
                       record->job);
    struct stage *stage = first->stage;
    load_hold(variant_of(stage, record->variant), record);
    if (record->variant)
        return 0;
    stage->open = record->open;
    stage->coflow_fixed = record->coflow_fixed;
    stage->coflow_bytes = record->coflow_bytes;
    stage->received_bytes = record->received_bytes;
    stage->hold_due_ns = record->hold_due_ns;
    if (record->opening && stage->open)
        stage_restore_opening(engine, stage, record->opening - 1);
    if (record->refusal_reason)
        refusal_restore(engine, stage,
                        &(struct refusal){.why = {record->refusal_reason, record->refusal_left,
                                                  record->refusal_right},
                                          .since_ns = record->refusal_since_ns,
                                          .due_ns = record->refusal_due_ns});
    return 0;
}

static int load_task(struct engine *engine, const void *object, struct err *err)
{
    const struct task_record *record = object;
    struct task *task = job_find_task(engine, record->job, record->stage, record->task);
    struct host *host = cluster_host(engine, record->done_host);
    /* A framework may not report where. */
    bool nowhere = task && task->stage->framework && record->done_host == ENGINE_NONE;
    if (!task || task_state(task) != TASK_BLOCKED || record->state > TASK_DONE ||
        (record->state == TASK_DONE && !host && !nowhere))
        return err_set(err, EINVAL,
                       "task %" PRIu64 "/%u/%u is not there, comes twice, or was done nowhere",
                       record->job, record->stage, record->task);
    task_restore(engine, task, (enum task_state)record->state, record->done_attempt, host);
    task->failures = record->failures;
    task->ready_ns = record->ready_ns;
    task->started_ns = record->started_ns;
    for (uint32_t i = 0; i < task->stage->n_others; i++)
        task->stage->others[i]->tasks[task->index].ready_ns = record->ready_ns;
    return 0;
}

static int load_resume(struct engine *engine, const void *object, struct err *err)
{
    const struct resume_record *record = object;
    struct job *job = job_find(engine, record->job);
    if (!job || job->state != JOB_ACTIVE)
        return err_set(err, EINVAL, "job %" PRIu64 " is not active", record->job);
    job->slot_wait_ns = record->slot_wait_ns;
    for (uint32_t s = 0; s < job->n_stages; s++) {
        struct stage *stage = job->stages[s];
        stage->coflow_fixed = stage->n_started > 0;
        stage->coflow_bytes = stage->coflow_fixed ? stage->total_bytes : 0;
        stage_open_if_due(engine, stage);
    }
    return 0;
}

static int load_finished(struct engine *engine, const void *object, struct err *err)
{
    const struct finished *record = object;
    (void)err;
    struct finished *finished = engine_allocate(engine, 1, sizeof(*finished));
    *finished = *record;
    job_remember(engine, finished);
    return 0;
}

#define F      FIELD_OF
#define ADDED  FIELD_ADDED
#define FORMER FIELD_FORMER
#define LEAN   FIELD_LEAN

enum { JOB, STAGE, TASK, FINISHED, RESUME };
const struct dump_kind job_kinds[] = {
    [JOB] = {{"job",
              {F(job_record, job, U64), F(job_record, state, U32), F(job_record, submitted_ns, I64),
               F(job_record, slot_wait_ns, I64), F(job_record, estimate_key, U64),
               FORMER(job_record, map_share, U64), ADDED(job_record, hosts, U32)}},
             load_job},
    [STAGE] = {{"stage",
                {F(stage_record, job, U64),
                 F(stage_record, stage, U32),
                 F(stage_record, open, BOOL),
                 F(stage_record, coflow_fixed, BOOL),
                 F(stage_record, held, BOOL),
                 F(stage_record, overdue, BOOL),
                 F(stage_record, coflow_bytes, U64),
                 F(stage_record, received_bytes, U64),
                 FORMER(stage_record, received_level, U64),
                 F(stage_record, hold_reason, REASON),
                 F(stage_record, hold_left, I64),
                 F(stage_record, hold_right, I64),
                 F(stage_record, held_since_ns, I64),
                 F(stage_record, held_until_ns, I64),
                 ADDED(stage_record, hold_due_ns, I64),
                 ADDED(stage_record, opening, U32),
                 LEAN(stage_record, refusal_reason, REASON),
                 LEAN(stage_record, refusal_left, I64),
                 LEAN(stage_record, refusal_right, I64),
                 LEAN(stage_record, refusal_since_ns, I64),
                 LEAN(stage_record, refusal_due_ns, I64),
                 LEAN(stage_record, variant, U32)}},
               load_stage},
    [TASK] = {{"task",
               {F(task_record, job, U64), F(task_record, stage, U32), F(task_record, task, U32),
                F(task_record, state, U32), F(task_record, failures, U32),
                F(task_record, done_host, U32), F(task_record, done_attempt, U64),
                F(task_record, ready_ns, I64), F(task_record, started_ns, I64)}},
              load_task},
    [FINISHED] = {{"finished",
                   {F(finished, number, U64), F(finished, content, U64), F(finished, name, CHARS),
                    F(finished, user, U32), F(finished, stages, U32), F(finished, tasks, U64),
                    F(finished, shuffle_bytes, U64), F(finished, key, U64), F(finished, state, U32),
                    F(finished, submitted_ns, I64), F(finished, finished_ns, I64),
                    F(finished, slot_wait_ns, I64), LEAN(finished, evictions, U64),
                    LEAN(finished, evicted_ns, I64)}},
                  load_finished},
    [RESUME] = {{"resume", {F(resume_record, job, U64), F(resume_record, slot_wait_ns, I64)}},
                load_resume},
    {{0}, NULL},
};

void job_dump_tasks_given(struct dumper *d, const struct stage *stage)
{
    uint64_t *values = d->lists;
    for (uint32_t first = 0; first < stage->tasks_given; first += DUMP_CHUNK) {
        uint32_t n = stage->tasks_given - first < DUMP_CHUNK ? stage->tasks_given - first
                                                             : DUMP_CHUNK,
                 per = stage->replicas_per_task;
        for (uint32_t i = 0; i < n; i++) {
            values[i] = stage->tasks[first + i].input_bytes;
            values[DUMP_CHUNK + i] = stage->tasks[first + i].compute_ns;
        }
        struct event event = {.kind = stage->framework ? EVENT_FRAMEWORK_TASKS : EVENT_JOB_TASKS};
        event.job_tasks.job = stage->job->number;
        event.job_tasks.stage = stage->index;
        event.job_tasks.first = first;
        event.job_tasks.replicas_per_task = per;
        event.job_tasks.replicas =
            (struct u32s){stage->replicas ? stage->replicas + (size_t)first * per : NULL, n * per};
        event.job_tasks.input_bytes = (struct u64s){values, n};
        event.job_tasks.compute_ns = (struct u64s){values + DUMP_CHUNK, n};
        dump_event(d, &event);
    }
}

/* Computing by a variant, where it was told. */
static void dump_work_given(struct dumper *d, const struct stage *variant)
{
    uint64_t *values = d->lists;
    for (uint32_t first = 0; first < variant->tasks_given; first += DUMP_CHUNK) {
        uint32_t left = variant->tasks_given - first, n = left < DUMP_CHUNK ? left : DUMP_CHUNK;
        for (uint32_t i = 0; i < n; i++)
            values[i] = variant->tasks[first + i].compute_ns;
        struct event event = {.kind = EVENT_JOB_TASKS};
        event.job_tasks.job = variant->job->number;
        event.job_tasks.stage = variant->index;
        event.job_tasks.first = first;
        event.job_tasks.compute_ns = (struct u64s){values, n};
        event.job_tasks.variant = variant->variant;
        dump_event(d, &event);
    }
}

static void dump_edge(struct dumper *d, const struct stage *stage, const struct edge *edge)
{
    uint64_t *values = d->lists;
    for (uint64_t first = 0; first < edge->filled; first += DUMP_CHUNK) {
        uint32_t n =
            (uint32_t)(edge->filled - first < DUMP_CHUNK ? edge->filled - first : DUMP_CHUNK);
        for (uint32_t i = 0; i < n; i++)
            values[i] = packed_at(edge->bytes, first + i);
        struct event event = {.kind = EVENT_JOB_BYTES};
        event.job_bytes.job = stage->job->number;
        event.job_bytes.stage = stage->index;
        event.job_bytes.parent = edge->parent;
        event.job_bytes.first = (uint32_t)first;
        event.job_bytes.matrix = edge->matrix;
        event.job_bytes.bytes = (struct u64s){values, n};
        dump_event(d, &event);
    }
}

enum { OTHERS = ENGINE_VARIANTS_MAX - 1 };

/* The event of a stage, with its variants but the first, and its wishes. */
static void dump_with_variants(struct dumper *d, const struct stage *stage, struct event *event)
{
    uint64_t demands[OTHERS * ENGINE_RESOURCES];
    char commands[OTHERS * ENGINE_NAME_MAX] = "", constraints[OTHERS * CONSTRAINT_MAX] = "";
    char wishes[WISHES_LINES];
    uint32_t utilities[ENGINE_WISHES_MAX];
    uint64_t profiles[ENGINE_VARIANTS_MAX * PROFILE_NUMBERS];
    for (uint32_t i = 0; i < stage->n_others; i++) {
        const struct stage *other = stage->others[i];
        const struct shape *shape = other->bucket->shape;
        size_t command = strlen(commands), constraint = strlen(constraints);
        const char *separator = i ? "\n" : "";
        for (uint32_t r = 0; r < ENGINE_RESOURCES; r++)
            demands[i * ENGINE_RESOURCES + r] = (uint64_t)shape->demand.amount[r];
        snprintf(commands + command, sizeof(commands) - command, "%s%s", separator, other->command);
        snprintf(constraints + constraint, sizeof(constraints) - constraint, "%s%s", separator,
                 shape->constraint);
    }
    event->job_stage.variant_demands = (struct u64s){demands, stage->n_others * ENGINE_RESOURCES};
    event->job_stage.variant_commands = commands;
    event->job_stage.variant_constraints = constraints;
    wishes_tell(stage, wishes, utilities, event);
    event->job_stage.profiles = (struct u64s){profiles, variant_tell_profiles(stage, profiles)};
    dump_event(d, event);
}

static void dump_stage_given(struct dumper *d, const struct stage *stage)
{
    uint32_t *lists = (uint32_t *)d->lists;
    for (uint32_t i = 0; i < stage->n_edges; i++) {
        lists[i] = stage->edges[i].parent;
        lists[stage->n_edges + i] = stage->edges[i].kind;
    }
    struct event event = {.kind = EVENT_JOB_STAGE};
    event.job_stage.job = stage->job->number;
    event.job_stage.stage = stage->index;
    event.job_stage.tasks = stage->n_tasks;
    event.job_stage.demand = stage->bucket->shape->demand;
    event.job_stage.command = stage->command;
    event.job_stage.constraint = stage->bucket->shape->constraint;
    event.job_stage.parents = (struct u32s){lists, stage->n_edges};
    event.job_stage.edges = (struct u32s){lists + stage->n_edges, stage->n_edges};
    event.job_stage.at_most_host = stage->at_most.host;
    event.job_stage.at_most_rack = stage->at_most.rack;
    event.job_stage.history = stage->history;
    dump_with_variants(d, stage, &event);
    job_dump_tasks_given(d, stage);
    for (uint32_t i = 0; i < stage->n_others; i++)
        dump_work_given(d, stage->others[i]);
    for (uint32_t i = 0; i < stage->n_edges; i++)
        if (stage->edges[i].given)
            dump_edge(d, stage, &stage->edges[i]);
}

static void dump_task(struct dumper *d, const struct task *task)
{
    if (task_state(task) == TASK_BLOCKED && !task->failures && !task->losses && !task->ready_ns &&
        !task->started_ns && !task->retry && !task->reruns)
        return;
    struct task_record record = {
        .job = task->stage->job->number,
        .stage = task->stage->index,
        .task = task->index,
        .state = task_state(task),
        .failures = task->failures,
        .done_host = task->done_host,
        .done_attempt = task->done_attempt,
        .ready_ns = task->ready_ns,
        .started_ns = task->started_ns,
    };
    dump_record(d, &job_kinds[TASK].kind, &record);
    failing_dump_task(d, task);
    rerun_dump_task(d, task);
    loss_dump_task(d, task);
}

static void refusal_fill(const struct refusal *refusal, struct stage_record *record)
{
    record->refusal_reason = refusal->why.reason;
    record->refusal_left = refusal->why.left;
    record->refusal_right = refusal->why.right;
    record->refusal_since_ns = refusal->since_ns;
    record->refusal_due_ns = refusal->due_ns;
}

static struct stage_record record_of(const struct stage *stage)
{
    return (struct stage_record){
        .job = stage->job->number,
        .stage = stage->index,
        .variant = stage->variant,
        .open = stage->open,
        .coflow_fixed = stage->coflow_fixed,
        .held = stage->held,
        .overdue = stage->overdue,
        .coflow_bytes = stage->coflow_bytes,
        .received_bytes = stage->received_bytes,
        .hold_reason = stage->hold_reason,
        .hold_left = stage->hold_left,
        .hold_right = stage->hold_right,
        .held_since_ns = stage->held_since_ns,
        .held_until_ns = stage->held_until_ns,
        .hold_due_ns = stage->hold_due_ns,
        .opening = stage->of_opening.in ? stage->opening + 1 : 0,
    };
}

/* WHY always: what it was held for last is told as long as it is there. */
static void dump_variant(struct dumper *d, const struct stage *variant)
{
    const struct stage_record record = record_of(variant);
    dump_record(d, &job_kinds[STAGE].kind, &record);
}

static void dump_stage(struct dumper *d, const struct stage *stage)
{
    struct stage_record record = record_of(stage);
    if (stage->refusal)
        refusal_fill(stage->refusal, &record);
    if (stage->n_tasks)
        dump_record(d, &job_kinds[STAGE].kind, &record);
    if (stage->framework)
        framework_dump_stage(d, stage);
    for (uint32_t i = 0; i < stage->n_others; i++)
        dump_variant(d, stage->others[i]);
    for (uint32_t t = 0; t < stage->n_tasks; t++)
        dump_task(d, &stage->tasks[t]);
}

void job_dump_state(struct dumper *d, const struct job *job)
{
    const struct job_record record = {
        .job = job->number,
        .state = job->state,
        .submitted_ns = job->submitted_ns,
        .slot_wait_ns = job->slot_wait_ns,
        .estimate_key = job->estimate_key,
        .hosts = job->hosts,
    };
    if (!job->framework)
        dump_record(d, &job_kinds[JOB].kind, &record);
}

static void dump_given(struct dumper *d, const struct job *job)
{
    if (job->framework) {
        framework_dump_given(d, job);
        return;
    }
    struct event begin = {.kind = EVENT_JOB_BEGIN};
    begin.job_begin.job = job->number;
    begin.job_begin.name = job->name;
    begin.job_begin.content = job->content;
    begin.job_begin.user = job->user;
    begin.job_begin.job_kind = job->kind;
    begin.job_begin.priority = job->priority;
    begin.job_begin.deadline_ns = job->deadline_ns;
    begin.job_begin.estimate_bytes = job->estimate_bytes;
    begin.job_begin.estimate_ns = job->estimate_ns;
    begin.job_begin.at_most_host = job->at_most.host;
    begin.job_begin.at_most_rack = job->at_most.rack;
    dump_event(d, &begin);
    for (uint32_t s = 0; s < job->n_stages; s++)
        dump_stage_given(d, job->stages[s]);
    job_dump_state(d, job);
}

static void dump_holder(struct dumper *d, const struct job *job)
{
    struct event hold = {.kind = EVENT_JOB_HOLD};
    if (!job->holder)
        return;
    hold.job_hold.job = job->number;
    hold.job_hold.by = job->holder->by;
    hold.job_hold.since_ns = job->holder->since_ns;
    dump_event(d, &hold);
}

void job_dump(struct dumper *d, const struct job *job)
{
    account_dump_submitter(d, job->account && !job->framework ? job->account->id : 0);
    dump_given(d, job);
    dump_holder(d, job);
    account_dump_ways(d, job);
    for (uint32_t s = 0; job->state == JOB_ACTIVE && s < job->n_stages; s++)
        dump_stage(d, job->stages[s]);
    eviction_dump_job(d, job);
}

void job_dump_finished(struct dumper *d, const struct finished *finished)
{
    dump_record(d, &job_kinds[FINISHED].kind, finished);
}
