#include "controller/engine/books/job.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/job_stages.h"
#include "controller/engine/base/packed.h"
#include "controller/engine/base/resources.h"
#include "controller/engine/base/table.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/assembly.h"
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/losing.h"
#include "controller/engine/books/removal.h"
#include "controller/engine/books/retry.h"
#include "controller/engine/books/split.h"
#include "controller/engine/books/spread.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/users.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/policy/policy.h"
#include "lib/fnv1a.h"
#include "lib/invariant.h"

#include <stdlib.h>
#include <string.h>

struct job *job_find(const struct engine *engine, uint64_t number)
{
    struct sorted_key key = {number, 0, 0};
    struct sorted_node *node = sorted_find(&engine->jobs, key);
    return node ? container_of(node, struct job, by_number) : NULL;
}

struct finished *job_find_finished(const struct engine *engine, uint64_t number)
{
    struct sorted_key key = {number, 0, 0};
    struct sorted_node *node = sorted_find(&engine->finished, key);
    return node ? container_of(node, struct finished, by_number) : NULL;
}

struct stage *job_find_stage(const struct engine *engine, uint64_t number, uint32_t stage)
{
    struct job *job = job_find(engine, number);
    return job ? job_stage_at(job, stage) : NULL;
}

struct task *job_stage_task(struct stage *stage, uint32_t task)
{
    if (!stage || task >= stage->n_tasks)
        return NULL;
    if (!stage->tasks[task].stage)
        assembly_make_task(stage, task);
    return &stage->tasks[task];
}

struct task *job_find_task(const struct engine *engine, uint64_t number, uint32_t stage,
                           uint32_t task)
{
    return job_stage_task(job_find_stage(engine, number, stage), task);
}

uint64_t job_name_hash(const char *name)
{
    return fnv1a(FNV1A_NOTHING, name, strlen(name));
}

struct job *job_make(struct engine *engine, uint64_t number)
{
    struct job *job = engine_allocate(engine, 1, sizeof(*job));
    struct sorted_key by_number = {number, 0, 0};
    job->number = number;
    job->submitted_ns = engine->now_ns;
    TAILQ_INIT(&job->waiting);
    sorted_insert(&engine->jobs, &job->by_number, by_number, 0);
    return job;
}

struct bucket *job_bucket(struct engine *engine, struct job *job, struct shape *shape)
{
    for (uint32_t i = 0; i < job->n_buckets; i++)
        if (job->buckets[i]->shape == shape)
            return job->buckets[i];
    struct bucket *bucket = engine_allocate(engine, 1, sizeof(*bucket));
    bucket->job = job;
    bucket->shape = shape;
    bucket->queues = users_queues(engine, job->tenant, shape);
    shape->users++;
    /* WHY: dumps of before do not say whom a shape counts for. */
    if (engine->suspended && !shape->account)
        account_take_shape(engine, shape, job->account);
    TAILQ_INIT(&bucket->reduce_stages);
    job->buckets = engine_grow(engine, job->buckets, job->n_buckets);
    job->buckets[job->n_buckets++] = bucket;
    return bucket;
}

uint64_t job_cells_of(const struct stage *parent, const struct stage *stage, bool matrix)
{
    return matrix ? (uint64_t)parent->n_tasks * stage->n_tasks : stage->n_tasks;
}

/* The first stage with parts missing, n_stages when complete. */
uint32_t job_incomplete_stage(const struct job *job)
{
    for (uint32_t s = 0; s < job->n_stages; s++) {
        const struct stage *stage = job->stages[s];
        if (stage->tasks_given && stage->tasks_given != stage->n_tasks)
            return s;
        for (uint32_t i = 0; i < stage->n_others; i++)
            if (stage->others[i]->tasks_given && stage->others[i]->tasks_given != stage->n_tasks)
                return s;
        for (uint32_t i = 0; i < stage->n_edges; i++) {
            const struct edge *edge = &stage->edges[i];
            if (edge->given &&
                edge->filled != job_cells_of(job->stages[edge->parent], stage, edge->matrix))
                return s;
        }
    }
    return job->n_stages;
}

bool job_is_complete(const struct job *job)
{
    return job->n_stages && job_incomplete_stage(job) == job->n_stages;
}

void job_assemble(struct engine *engine, struct job *job)
{
    assembly_go_on(engine, job, UINT64_MAX);
    assembly_end(engine, job);
}

void job_activate(struct engine *engine, struct job *job)
{
    job->state = JOB_ACTIVE;
    at_most_begin(job);
    engine->bounded_jobs += job->bounded;
    split_begin(engine, job);
    policy_begin_job(engine, job);
    tell_job_active(engine, job);
}

void job_remember(struct engine *engine, struct finished *record)
{
    struct sorted_key by_number = {record->number, 0, 0},
                      by_age = {engine->finished_counter++, 0, 0};
    /* WHY 1: the job itself is still among the names, with 0. */
    struct sorted_key by_name = {job_name_hash(record->name), record->number, 1};
    sorted_insert(&engine->finished, &record->by_number, by_number, 0);
    sorted_insert(&engine->finished_age, &record->by_age, by_age, 0);
    sorted_insert(&engine->names, &record->by_name, by_name, 1);
    if (engine->finished.n <= engine->config.finished_max)
        return;
    struct finished *oldest =
        container_of(sorted_first(&engine->finished_age), struct finished, by_age);
    sorted_remove(&engine->finished, &oldest->by_number);
    sorted_remove(&engine->finished_age, &oldest->by_age);
    sorted_remove(&engine->names, &oldest->by_name);
    free(oldest);
}

static void remember(struct engine *engine, const struct job *job)
{
    struct finished *record = engine_allocate(engine, 1, sizeof(*record));
    record->number = job->number;
    record->content = job->content;
    memcpy(record->name, job->name, sizeof(record->name));
    record->user = job->user;
    record->stages = job_stage_end(job);
    record->tasks = job->n_tasks;
    record->shuffle_bytes = job->shuffle_bytes;
    record->key = job->estimate_key;
    record->state = job->state;
    record->submitted_ns = job->submitted_ns;
    record->finished_ns = job->finished_ns;
    record->slot_wait_ns = job->slot_wait_ns;
    record->evictions = job->evictions;
    record->evicted_ns = job->evicted_ns;
    job_remember(engine, record);
    split_end(engine, job);
}

void job_destroy(struct engine *engine, struct job *job)
{
    spread_done(job);
    policy_end_job(engine, job);
    sorted_remove(&engine->jobs, &job->by_number);
    sorted_remove(&engine->names, &job->by_name);
    assert(engine->n_tasks >= job->n_tasks);
    engine->n_tasks -= job->n_tasks;
    engine->framework_tasks -= job->framework ? job->n_tasks : 0;
    account_leave(engine, job);
    tell_job_gone(engine, job);
    users_part(engine, job);
    variant_end_job(engine, job);
    for (uint32_t s = 0; s < job->n_stages; s++)
        free(job->stages[s]->framework);
    for (uint32_t i = 0; i < job->n_buckets; i++) {
        assert(job->buckets[i]->shape->users > 0);
        job->buckets[i]->shape->users--;
        free(job->buckets[i]);
    }
    assert(engine->framework_jobs >= (job->framework != NULL));
    engine->framework_jobs -= job->framework != NULL;
    free(job->framework);
    free(job->buckets);
    assembly_forget(job);
    removal_begin(engine, job);
}

/* For a job whose framework reported its end: the attempt is over, too. */
static void forget_attempt(struct engine *engine, struct attempt *attempt)
{
    struct host *host = attempt->host;
    attempt_destroy(engine, attempt);
    host_touch(engine, host);
}

/* Takes the job out of queues and cluster: none of its tasks is ready any more, live attempts
 * become orphans and are told to stop. A framework forgets its outputs and attempts itself. */
static void withdraw(struct engine *engine, struct job *job, enum reason reason)
{
    for (uint32_t s = 0; s < job->n_stages; s++) {
        struct stage *stage = job->stages[s];
        retry_leave_all(engine, stage);
        stage_withdraw(engine, stage);
        struct attempt *attempt, *next;
        TAILQ_FOREACH_SAFE (attempt, &stage->attempts, of_stage, next) {
            attempt_stop(engine, attempt, reason, false);
            attempt_orphan(engine, attempt);
            if (job->framework)
                forget_attempt(engine, attempt);
        }
    }
    engine->bounded_jobs -= job->bounded;
    losing_forget(engine, job);
    tell_job_withdrawn(engine, job);
    for (struct sorted_node *node = job->framework ? NULL : sorted_first(spread_ordered(job)); node;
         node = sorted_next(node)) {
        struct decision *forget = engine_decide(engine, DECISION_FORGET, REASON_NONE, 0, 0);
        forget->forget.job = job->number;
        forget->forget.host = container_of(node, struct job_host, by_host)->host->index;
    }
}

void job_finish(struct engine *engine, struct job *job)
{
    job->state = JOB_DONE;
    job->finished_ns = engine->now_ns;
    struct decision *done = engine_decide(engine, DECISION_JOB_DONE, REASON_NONE, 0, 0);
    done->job_done.job = job->number;
    done->job_done.submitted_ns = job->submitted_ns;
    done->job_done.finished_ns = job->finished_ns;
    done->job_done.slot_wait_ns = job->slot_wait_ns;
    engine->counters.jobs_done++;
    withdraw(engine, job, REASON_REPLACED);
    remember(engine, job);
    job_destroy(engine, job);
}

void job_fail(struct engine *engine, struct job *job, enum reason reason, struct task *task,
              uint64_t attempt, int64_t left)
{
    job->state = reason == REASON_CANCELLED ? JOB_CANCELLED : JOB_FAILED;
    job->finished_ns = engine->now_ns;
    struct decision *failed = engine_decide(engine, DECISION_JOB_FAILED, reason, left, 0);
    failed->job_failed.job = job->number;
    failed->job_failed.stage = task ? task->stage->index : ENGINE_NONE;
    failed->job_failed.task = task ? task->index : ENGINE_NONE;
    failed->job_failed.attempt = attempt;
    failed->job_failed.submitted_ns = job->submitted_ns;
    failed->job_failed.finished_ns = job->finished_ns;
    engine->counters.jobs_failed++;
    withdraw(engine, job, reason == REASON_CANCELLED ? REASON_CANCELLED : REASON_JOB_FAILED);
    remember(engine, job);
    job_destroy(engine, job);
}
