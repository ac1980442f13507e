#include "controller/engine/facts/submission.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/packed.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/assembly.h"
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/users.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/books/wishes.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/estimate.h"
#include "controller/engine/watch/order.h"

#include <string.h>

/* The job that has this name: true with number and content. */
static bool find_name(const struct engine *engine, const char *name, uint64_t *ret_number,
                      uint64_t *ret_content)
{
    struct sorted_key key = {job_name_hash(name), 0, 0};
    for (struct sorted_node *node = sorted_from(&engine->names, key); node && node->key.a == key.a;
         node = sorted_next(node)) {
        bool over = node->value;
        const struct finished *finished = container_of(node, struct finished, by_name);
        const struct job *job = container_of(node, struct job, by_name);
        if (strcmp(over ? finished->name : job->name, name) != 0)
            continue;
        *ret_number = over ? finished->number : job->number;
        *ret_content = over ? finished->content : job->content;
        return true;
    }
    return false;
}

void job_begin(struct engine *engine, const struct event *event)
{
    uint64_t number = event->job_begin.job, other, content, submitter = engine->submitter;
    engine->submitter = 0;
    const char *name = event->job_begin.name;
    size_t length = name ? strlen(name) : 0;
    if (number == 0 || length == 0 || length >= ENGINE_NAME_MAX) {
        engine_reject(engine, event, REASON_BAD_VALUE, (int64_t)length, ENGINE_NAME_MAX - 1);
        return;
    }
    if (event->job_begin.job_kind > JOB_UNKNOWN || event->job_begin.estimate_bytes < -1 ||
        event->job_begin.estimate_ns < -1) {
        engine_reject(engine, event, REASON_BAD_VALUE, event->job_begin.job_kind, JOB_UNKNOWN);
        return;
    }
    const struct at_most at_most = {event->job_begin.at_most_host, event->job_begin.at_most_rack};
    if (!at_most_is_valid(at_most, at_most)) {
        engine_reject(engine, event, REASON_BAD_VALUE, at_most.host, at_most.rack);
        return;
    }
    if (find_name(engine, name, &other, &content)) {
        enum reason reason =
            content == event->job_begin.content ? REASON_SAME_JOB : REASON_NAME_TAKEN;
        engine_reject(engine, event, reason, clamp_i64(other), 0);
        return;
    }
    if (job_find(engine, number) || job_find_finished(engine, number)) {
        engine_reject(engine, event, REASON_NUMBER_TAKEN, clamp_i64(number), 0);
        return;
    }
    if (!users_admit(engine, event->job_begin.user)) {
        engine_reject(engine, event, REASON_UNKNOWN_USER, event->job_begin.user, 0);
        return;
    }
    struct account *account = account_of_submitter(engine, submitter);
    if (engine->jobs.n - (account ? engine->framework_jobs : 0) >= engine->config.jobs_max ||
        !account_admits_job(engine, account)) {
        engine_reject(engine, event, REASON_TABLE_FULL, 0, engine->config.jobs_max);
        return;
    }
    struct job *job = job_make(engine, number);
    account_join(engine, job, account);
    job->content = event->job_begin.content;
    memcpy(job->name, name, length);
    users_join(engine, job, event->job_begin.user);
    job->kind = event->job_begin.job_kind;
    job->at_most = at_most;
    job->priority = event->job_begin.priority;
    job->deadline_ns = event->job_begin.deadline_ns;
    job->estimate_bytes = event->job_begin.estimate_bytes;
    job->estimate_ns = event->job_begin.estimate_ns;
    struct sorted_key by_name = {job_name_hash(job->name), number, 0};
    sorted_insert(&engine->names, &job->by_name, by_name, 0);
}

/* The job, which is not complete yet, or NULL after a rejection. */
static struct job *arriving(struct engine *engine, const struct event *event, uint64_t number)
{
    struct job *job = job_find(engine, number);
    if (job && job->state == JOB_ARRIVING)
        return job;
    engine_reject(engine, event, job ? REASON_BAD_STATE : REASON_UNKNOWN_JOB, clamp_i64(number), 0);
    return NULL;
}

static struct job *taking_parts(struct engine *engine, const struct event *event, uint64_t number)
{
    struct job *job = arriving(engine, event, number);
    if (!job || !assembly_begun(job))
        return job;
    engine_reject(engine, event, REASON_BAD_STATE, clamp_i64(number), 0);
    return NULL;
}

static bool word_fits(const char *word, size_t size)
{
    return !word || strlen(word) < size;
}

static bool values_are_valid(const struct event *event)
{
    bool valid = word_fits(event->job_stage.command, ENGINE_NAME_MAX) &&
                 word_fits(event->job_stage.constraint, CONSTRAINT_MAX);
    for (int r = 0; r < ENGINE_RESOURCES; r++)
        valid = valid && event->job_stage.demand.amount[r] >= 0;
    for (uint32_t i = 0; i < event->job_stage.edges.n; i++)
        valid = valid && event->job_stage.edges.at[i] <= EDGE_PIPELINED;
    return valid;
}

static struct at_most at_most_of(const struct event *event)
{
    return (struct at_most){event->job_stage.at_most_host, event->job_stage.at_most_rack};
}

static bool stage_is_valid(struct engine *engine, const struct job *job, const struct event *event)
{
    const struct engine_config *config = &engine->config;
    uint32_t tasks = event->job_stage.tasks, stage = event->job_stage.stage;
    if (stage != job->n_stages || tasks == 0 ||
        event->job_stage.parents.n != event->job_stage.edges.n || !values_are_valid(event) ||
        variant_told(event) < 0 || wishes_told(event) < 0 ||
        !at_most_is_valid(job->at_most, at_most_of(event))) {
        engine_reject(engine, event, REASON_BAD_VALUE, stage, job->n_stages);
        return false;
    }
    for (uint32_t i = 0; i < event->job_stage.parents.n; i++)
        for (uint32_t j = 0; j <= i; j++)
            if (event->job_stage.parents.at[i] >= stage ||
                (j < i && event->job_stage.parents.at[j] == event->job_stage.parents.at[i])) {
                engine_reject(engine, event, REASON_BAD_VALUE, event->job_stage.parents.at[i],
                              stage);
                return false;
            }
    bool too_many = stage >= config->stages_per_job_max;
    if (too_many || !account_admits_tasks(engine, job, tasks)) {
        engine_reject(engine, event, REASON_TABLE_FULL, stage,
                      too_many ? config->stages_per_job_max : clamp_i64(config->tasks_max));
        return false;
    }
    return true;
}

static uint64_t bytes_of_stage(const struct event *event)
{
    uint64_t variants = 1 + (uint64_t)variant_told(event);
    return ACCOUNT_STAGE * variants +
           (uint64_t)ACCOUNT_EDGE *
               ((uint64_t)event->job_stage.parents.n + event->job_stage.utilities.n) +
           ACCOUNT_TASK * variants * event->job_stage.tasks;
}

void job_stage(struct engine *engine, const struct event *event)
{
    struct job *job = taking_parts(engine, event, event->job_stage.job);
    if (!job || !stage_is_valid(engine, job, event))
        return;
    struct shape *shapes[ENGINE_VARIANTS_MAX];
    bool found = variant_find_shapes(engine, event, job->account, shapes);
    if (!found || !account_take(engine, job, bytes_of_stage(event))) {
        if (found)
            variant_leave_shapes(event, shapes);
        engine_reject(engine, event, REASON_TABLE_FULL, event->job_stage.stage,
                      engine->config.shapes_max);
        return;
    }
    struct stage *stage = engine_allocate(engine, 1, sizeof(*stage));
    stage->job = job;
    stage->first = stage;
    stage->bucket = job_bucket(engine, job, shapes[0]);
    stage->index = job->n_stages;
    stage->n_tasks = event->job_stage.tasks;
    strncpy(stage->command, event->job_stage.command ? event->job_stage.command : "",
            sizeof(stage->command) - 1);
    stage->tasks = engine_allocate(engine, stage->n_tasks, sizeof(*stage->tasks));
    stage->n_edges = event->job_stage.parents.n;
    stage->edges = engine_allocate(engine, stage->n_edges + 1, sizeof(*stage->edges));
    for (uint32_t i = 0; i < stage->n_edges; i++) {
        stage->edges[i].parent = event->job_stage.parents.at[i];
        stage->edges[i].kind =
            event->job_stage.edges.at[i] == EDGE_PIPELINED ? EDGE_PIPELINED : EDGE_BARRIER;
    }
    TAILQ_INIT(&stage->attempts);
    stage->at_most = at_most_of(event);
    stage->history = event->job_stage.history;
    wishes_make(engine, stage, event);
    variant_make(engine, stage, event, shapes);
    variant_leave_shapes(event, shapes);
    job->stages = engine_grow(engine, job->stages, job->n_stages);
    job->stages[job->n_stages++] = stage;
    job->n_tasks += stage->n_tasks;
    engine->n_tasks += stage->n_tasks;
}

void job_profile(struct engine *engine, const struct event *event)
{
    const struct profile profile = {event->job_profile.read_bytes, event->job_profile.read_bytes_s,
                                    event->job_profile.before, event->job_profile.compute_ns};
    struct stage *stage = job_find_stage(engine, event->job_profile.job, event->job_profile.stage);
    if (!stage || stage->framework || event->job_profile.variant >= variant_count(stage) ||
        !profile_is_known(&profile) || profile_check(&profile, NULL) < 0) {
        engine->counters.ignored_facts++;
        return;
    }
    variant_of(stage, event->job_profile.variant)->profile = profile;
    tell_profile_changed(engine, stage);
}

/* Computing of tasks by another variant than the first. */
static void variant_tasks(struct engine *engine, struct stage *stage, const struct event *event)
{
    uint32_t variant = event->job_tasks.variant, first = event->job_tasks.first,
             n = event->job_tasks.compute_ns.n;
    struct stage *of = stage && variant <= stage->n_others ? variant_of(stage, variant) : NULL;
    if (!of || first != of->tasks_given || n > of->n_tasks - first ||
        event->job_tasks.input_bytes.n || event->job_tasks.replicas.n)
        engine_reject(engine, event, stage ? REASON_BAD_VALUE : REASON_UNKNOWN_STAGE, first,
                      of ? of->tasks_given : 0);
    else
        variant_take_work(of, first, &event->job_tasks.compute_ns);
}

void job_tasks(struct engine *engine, const struct event *event)
{
    struct job *job = taking_parts(engine, event, event->job_tasks.job);
    if (!job)
        return;
    struct stage *stage = job_find_stage(engine, job->number, event->job_tasks.stage);
    if (event->job_tasks.variant) {
        variant_tasks(engine, stage, event);
        return;
    }
    uint32_t first = event->job_tasks.first, n = event->job_tasks.compute_ns.n,
             per = event->job_tasks.replicas_per_task;
    if (!stage || first != stage->tasks_given || n > stage->n_tasks - first ||
        event->job_tasks.input_bytes.n != n || per > ENGINE_REPLICAS_MAX ||
        event->job_tasks.replicas.n != n * per ||
        ((first || stage->replicas) && per != stage->replicas_per_task)) {
        engine_reject(engine, event, stage ? REASON_BAD_VALUE : REASON_UNKNOWN_STAGE, first,
                      stage ? stage->tasks_given : 0);
        return;
    }
    if (per && !stage->replicas)
        stage->replicas = engine_allocate(engine, (size_t)stage->n_tasks * per, sizeof(uint32_t));
    stage->replicas_per_task = per;
    for (uint32_t i = 0; i < n; i++) {
        stage->tasks[first + i].input_bytes = event->job_tasks.input_bytes.at[i];
        stage->tasks[first + i].compute_ns = event->job_tasks.compute_ns.at[i];
    }
    if (per && n)
        memcpy(stage->replicas + (size_t)first * per, event->job_tasks.replicas.at,
               (size_t)n * per * sizeof(uint32_t));
    stage->tasks_given += n;
}

/* WHY as cells come: a job may have millions of them, and its end must be short. */
static void sum_cells(struct stage *stage, struct stage *parent, const struct edge *edge,
                      const struct u64s *bytes)
{
    uint64_t map = edge->filled / stage->n_tasks, reduce = edge->filled % stage->n_tasks;
    for (uint32_t i = 0; i < bytes->n; i++) {
        stage->tasks[reduce].bytes += bytes->at[i];
        parent->tasks[map].output_bytes += bytes->at[i];
        if (++reduce == stage->n_tasks) {
            reduce = 0;
            map++;
        }
    }
}

static void sum_sums(struct stage *stage, const struct edge *edge, const struct u64s *bytes)
{
    for (uint32_t i = 0; i < bytes->n; i++)
        stage->tasks[edge->filled + i].bytes += bytes->at[i];
}

void job_bytes(struct engine *engine, const struct event *event)
{
    struct job *job = taking_parts(engine, event, event->job_bytes.job);
    if (!job)
        return;
    struct stage *stage = job_find_stage(engine, job->number, event->job_bytes.stage);
    struct edge *edge = NULL;
    for (uint32_t i = 0; stage && i < stage->n_edges; i++)
        if (stage->edges[i].parent == event->job_bytes.parent)
            edge = &stage->edges[i];
    if (!edge) {
        engine_reject(engine, event, REASON_UNKNOWN_STAGE, event->job_bytes.stage,
                      event->job_bytes.parent);
        return;
    }
    bool matrix = event->job_bytes.matrix;
    uint64_t cells = job_cells_of(job->stages[edge->parent], stage, matrix);
    if (event->job_bytes.first != edge->filled || event->job_bytes.bytes.n > cells - edge->filled ||
        (edge->given && edge->matrix != matrix)) {
        engine_reject(engine, event, REASON_BAD_VALUE, event->job_bytes.first,
                      clamp_i64(edge->filled));
        return;
    }
    if (!edge->given) {
        if (job->cells + cells > engine->config.cells_per_job_max ||
            !account_take(engine, job, cells * ACCOUNT_CELL)) {
            engine_reject(engine, event, REASON_TABLE_FULL, clamp_i64(cells),
                          clamp_i64(engine->config.cells_per_job_max));
            return;
        }
        job->cells += cells;
        edge->bytes = packed_make(engine, cells);
        edge->matrix = matrix;
        edge->given = true;
    }
    packed_append(engine, edge->bytes, event->job_bytes.bytes.at, event->job_bytes.bytes.n);
    if (matrix)
        sum_cells(stage, job->stages[edge->parent], edge, &event->job_bytes.bytes);
    else
        sum_sums(stage, edge, &event->job_bytes.bytes);
    edge->filled += event->job_bytes.bytes.n;
}

/* Why an arriving job cannot begin; REASON_NONE: it can. WHY each variant: one that no known host
 * could ever run is a mistake, and would only be found by who wonders why nothing runs so. */
static enum reason obstacle(const struct engine *engine, const struct job *job, uint32_t *ret_stage)
{
    *ret_stage = job_incomplete_stage(job);
    if (!job->n_stages || *ret_stage < job->n_stages)
        return REASON_INCOMPLETE;
    for (*ret_stage = 0; engine->joined && *ret_stage < job->n_stages; ++*ret_stage)
        if (variant_impossible(job->stages[*ret_stage]))
            return REASON_NEVER_FITS;
    *ret_stage = at_most_first(job);
    return engine->place->at_most || *ret_stage == job->n_stages ? REASON_NONE : REASON_NOT_KEPT;
}

enum reason engine_job_obstacle(const struct engine *engine, uint64_t number, uint32_t *ret_stage)
{
    const struct job *job = job_find(engine, number);
    if (!job || job->state != JOB_ARRIVING)
        return job ? REASON_BAD_STATE : REASON_UNKNOWN_JOB;
    return obstacle(engine, job, ret_stage);
}

void job_end(struct engine *engine, const struct event *event)
{
    struct job *job = arriving(engine, event, event->job_end.job);
    uint32_t stage;
    enum reason reason = job ? obstacle(engine, job, &stage) : REASON_NONE;
    if (reason != REASON_NONE)
        engine_reject(engine, event, reason, stage, 0);
    if (!job || reason != REASON_NONE)
        return;
    job_assemble(engine, job);
    job->submitted_ns = engine->now_ns;
    estimate_submitted(engine, job);
    job->hosts = engine->joined ? engine->joined : 1;
    job_activate(engine, job);
    for (uint32_t s = 0; s < job->n_stages; s++)
        stage_open_if_due(engine, job->stages[s]);
}

static struct obstacle unknown_obstacle(const struct engine *engine, uint64_t number)
{
    return job_find(engine, number) ? (struct obstacle){REASON_NONE, 0, 0}
                                    : (struct obstacle){REASON_UNKNOWN_JOB, clamp_i64(number), 0};
}

struct obstacle job_update_obstacle(const struct engine *engine, const struct event *event)
{
    return unknown_obstacle(engine, event->job_update.job);
}

void job_update(struct engine *engine, const struct event *event)
{
    struct job *job = job_find(engine, event->job_update.job);
    bool estimate = event->job_update.estimate_bytes >= 0 || event->job_update.estimate_ns >= 0;
    if (event->job_update.estimate_bytes >= 0)
        job->estimate_bytes = event->job_update.estimate_bytes;
    if (event->job_update.estimate_ns >= 0)
        job->estimate_ns = event->job_update.estimate_ns;
    if (event->job_update.priority != INT64_MIN)
        job->priority = event->job_update.priority;
    if (event->job_update.deadline_ns != INT64_MIN)
        job->deadline_ns = event->job_update.deadline_ns;
    if (job->state != JOB_ACTIVE)
        return;
    if (estimate)
        job->estimate_key = estimate_duration(engine, job);
    order_change(engine, job);
    if (event->job_update.priority != INT64_MIN)
        tell_priority_moved(engine, job);
}

struct obstacle job_cancel_obstacle(const struct engine *engine, const struct event *event)
{
    return unknown_obstacle(engine, event->job_cancel.job);
}

void job_cancel(struct engine *engine, const struct event *event)
{
    struct job *job = job_find(engine, event->job_cancel.job);
    if (job->state == JOB_ARRIVING)
        job_destroy(engine, job);
    else
        job_fail(engine, job, REASON_CANCELLED, NULL, 0, 0);
}
