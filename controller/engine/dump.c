/* The whole state as records. Jobs and hosts are written as the events that made them, then what
 * happened to them since. */
#include "controller/engine/attempt.h"
#include "controller/engine/cluster.h"
#include "controller/engine/field.h"
#include "controller/engine/hold.h"
#include "controller/engine/job.h"
#include "controller/engine/locality.h"
#include "controller/engine/mode.h"
#include "controller/engine/order.h"
#include "controller/engine/policy.h"
#include "controller/engine/source.h"
#include "controller/engine/stage.h"
#include "lib/fnv1a.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct clock_record {
    int64_t now_ns, mode_since_ns;
    uint64_t mode_sequence, attempt_counter, keyed_slots, keyed_bps;
    uint64_t draws; /* former */
    uint32_t mode;
    bool congested;
};
struct shape_record {
    struct resources demand;
    char constraint[ENGINE_NAME_MAX];
};
struct host_record {
    uint32_t host;
    bool joined, silent, lost, draining;
    uint32_t uplink_permille, downlink_permille;
    uint64_t tie_draws;
};
/* WHY records of their own: those of before keep their form, so that dumps of before are read. */
struct sources_record {
    int64_t source_lost_ns;
};
struct reach_record {
    uint32_t host, strikes;
    bool suspect, mute, blind, reached, cut;
    int64_t suspect_since_ns;
};
struct blind_record {
    uint32_t reader, source;
    int64_t since_ns, due_ns;
    bool overdue;
};
struct stall_record {
    uint32_t reader, source;
    uint64_t attempt;
};
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
};
struct task_record {
    uint64_t job;
    uint32_t stage, task, state, failures, done_host;
    uint64_t done_attempt;
    int64_t ready_ns, started_ns;
};
struct attempt_record {
    uint64_t attempt, job;
    uint32_t stage, task, host, unit, state, block_host;
    struct resources resources;
    uint64_t coflow_level, macroflow_level, coflow_bytes, macroflow_bytes, received_bytes,
        remote_bytes;
    int64_t started_ns, left, right;
    bool orphan, receiving, stopping;
    enum reason reason;
};

/* Dumps of before kept a policy's count of draws with the clock. */
#define NO_DRAWS UINT64_MAX

enum {
    RECORD_CONFIG,
    RECORD_CLOCK,
    RECORD_SHAPE,
    RECORD_HOST,
    RECORD_JOB,
    RECORD_STAGE,
    RECORD_TASK,
    RECORD_ATTEMPT,
    RECORD_FINISHED,
    RECORD_END,
    RECORD_SOURCES,
    RECORD_REACH,
    RECORD_BLIND,
    RECORD_STALL,
    RECORDS
};

#define F      FIELD_OF
#define ADDED  FIELD_ADDED
#define FORMER FIELD_FORMER

static const struct record_kind kinds[RECORDS] = {
    [RECORD_CONFIG] = {"config",
                       {F(engine_config, seed, U64),
                        F(engine_config, epoch, U32),
                        F(engine_config, turn, CHARS),
                        F(engine_config, place, CHARS),
                        F(engine_config, commit, CHARS),
                        F(engine_config, network, CHARS),
                        F(engine_config, mode_rule, U32),
                        F(engine_config, mode_ignore_held, BOOL),
                        F(engine_config, mode_dwell_ns, I64),
                        F(engine_config, congested_permille, U32),
                        F(engine_config, congested_share_permille, U32),
                        F(engine_config, cleared_permille, U32),
                        F(engine_config, even_wait_ns, I64),
                        ADDED(engine_config, start_wait_ns, I64),
                        F(engine_config, hold_max_ns, I64),
                        F(engine_config, stop_grace_ns, I64),
                        F(engine_config, failures_max, U32),
                        F(engine_config, coflow, TABLE),
                        F(engine_config, macroflow, TABLE),
                        F(engine_config, dclas, TABLE),
                        F(engine_config, hosts_max, U32),
                        F(engine_config, units_per_host_max, U32),
                        F(engine_config, jobs_max, U32),
                        F(engine_config, stages_per_job_max, U32),
                        F(engine_config, finished_max, U32),
                        F(engine_config, shapes_max, U32),
                        F(engine_config, tasks_max, U64),
                        F(engine_config, cells_per_job_max, U64)}},
    [RECORD_CLOCK] = {"clock",
                      {F(clock_record, now_ns, I64), F(clock_record, mode_since_ns, I64),
                       F(clock_record, mode_sequence, U64), F(clock_record, attempt_counter, U64),
                       FORMER(clock_record, draws, U64), F(clock_record, keyed_slots, U64),
                       F(clock_record, keyed_bps, U64), F(clock_record, mode, U32),
                       F(clock_record, congested, BOOL)}},
    [RECORD_SHAPE] = {"shape",
                      {F(shape_record, demand, RESOURCES), F(shape_record, constraint, CHARS)}},
    [RECORD_HOST] = {"host",
                     {F(host_record, host, U32), F(host_record, joined, BOOL),
                      F(host_record, silent, BOOL), F(host_record, lost, BOOL),
                      F(host_record, draining, BOOL), F(host_record, uplink_permille, U32),
                      F(host_record, downlink_permille, U32), F(host_record, tie_draws, U64)}},
    [RECORD_JOB] = {"job",
                    {F(job_record, job, U64), F(job_record, state, U32),
                     F(job_record, submitted_ns, I64), F(job_record, slot_wait_ns, I64),
                     F(job_record, estimate_key, U64), FORMER(job_record, map_share, U64),
                     ADDED(job_record, hosts, U32)}},
    [RECORD_STAGE] = {"stage",
                      {F(stage_record, job, U64), F(stage_record, stage, U32),
                       F(stage_record, open, BOOL), F(stage_record, coflow_fixed, BOOL),
                       F(stage_record, held, BOOL), F(stage_record, overdue, BOOL),
                       F(stage_record, coflow_bytes, U64), F(stage_record, received_bytes, U64),
                       FORMER(stage_record, received_level, U64),
                       F(stage_record, hold_reason, REASON), F(stage_record, hold_left, I64),
                       F(stage_record, hold_right, I64), F(stage_record, held_since_ns, I64),
                       F(stage_record, held_until_ns, I64), ADDED(stage_record, hold_due_ns, I64)}},
    [RECORD_TASK] = {"task",
                     {F(task_record, job, U64), F(task_record, stage, U32),
                      F(task_record, task, U32), F(task_record, state, U32),
                      F(task_record, failures, U32), F(task_record, done_host, U32),
                      F(task_record, done_attempt, U64), F(task_record, ready_ns, I64),
                      F(task_record, started_ns, I64)}},
    [RECORD_ATTEMPT] = {"attempt",
                        {F(attempt_record, attempt, U64),
                         F(attempt_record, job, U64),
                         F(attempt_record, stage, U32),
                         F(attempt_record, task, U32),
                         F(attempt_record, host, U32),
                         F(attempt_record, unit, U32),
                         F(attempt_record, state, U32),
                         F(attempt_record, block_host, U32),
                         F(attempt_record, resources, RESOURCES),
                         F(attempt_record, coflow_level, U64),
                         F(attempt_record, macroflow_level, U64),
                         F(attempt_record, coflow_bytes, U64),
                         F(attempt_record, macroflow_bytes, U64),
                         F(attempt_record, received_bytes, U64),
                         F(attempt_record, remote_bytes, U64),
                         F(attempt_record, started_ns, I64),
                         F(attempt_record, left, I64),
                         F(attempt_record, right, I64),
                         F(attempt_record, orphan, BOOL),
                         F(attempt_record, receiving, BOOL),
                         F(attempt_record, stopping, BOOL),
                         F(attempt_record, reason, REASON)}},
    [RECORD_FINISHED] = {"finished",
                         {F(finished, number, U64), F(finished, content, U64),
                          F(finished, name, CHARS), F(finished, user, U32),
                          F(finished, stages, U32), F(finished, tasks, U64),
                          F(finished, shuffle_bytes, U64), F(finished, key, U64),
                          F(finished, state, U32), F(finished, submitted_ns, I64),
                          F(finished, finished_ns, I64), F(finished, slot_wait_ns, I64)}},
    [RECORD_END] = {"end", {{0}}},
    [RECORD_SOURCES] = {"sources", {F(sources_record, source_lost_ns, I64)}},
    [RECORD_REACH] = {"reach",
                      {F(reach_record, host, U32), F(reach_record, strikes, U32),
                       F(reach_record, suspect, BOOL), F(reach_record, mute, BOOL),
                       F(reach_record, blind, BOOL), F(reach_record, reached, BOOL),
                       F(reach_record, cut, BOOL), F(reach_record, suspect_since_ns, I64)}},
    [RECORD_BLIND] = {"blind",
                      {F(blind_record, reader, U32), F(blind_record, source, U32),
                       F(blind_record, since_ns, I64), F(blind_record, due_ns, I64),
                       F(blind_record, overdue, BOOL)}},
    [RECORD_STALL] = {"stall",
                      {F(stall_record, reader, U32), F(stall_record, source, U32),
                       F(stall_record, attempt, U64)}},
};

struct dumper {
    int (*sink)(void *context, const char *line, size_t length);
    void *context;
    char *buffer;
    uint64_t *lists; /* what a record's lists point to */
    int error;
};

static void send_line(struct dumper *d, int length)
{
    if (d->error)
        return;
    d->error = length < 0 ? length : d->sink(d->context, d->buffer, (size_t)length);
}

static void put_record(struct dumper *d, int kind, const void *object)
{
    send_line(d, field_encode(&kinds[kind], object, d->buffer, RECORD_MAX));
}

static int put_line(void *context, const char *line, size_t length)
{
    struct dumper *d = context;
    d->error = d->error ? d->error : d->sink(d->context, line, length);
    return d->error;
}

static void put_event(struct dumper *d, const struct event *event)
{
    send_line(d, record_encode_event(event, d->buffer, RECORD_MAX));
}

static void dump_shape(struct dumper *d, const struct shape *shape)
{
    struct shape_record record = {.demand = shape->demand};
    strcpy(record.constraint, shape->constraint);
    put_record(d, RECORD_SHAPE, &record);
}

static void dump_reach(struct dumper *d, const struct host *host)
{
    const struct reach *reach = &host->reach;
    const struct reach_record record = {
        .host = host->index,
        .strikes = reach->strikes,
        .suspect = reach->suspect,
        .mute = reach->mute,
        .blind = reach->blind,
        .reached = reach->reached,
        .cut = reach->cut,
        .suspect_since_ns = reach->suspect_since_ns,
    };
    if (reach->strikes || reach->suspect || reach->blind || reach->reached)
        put_record(d, RECORD_REACH, &record);
}

static void dump_blind(struct dumper *d, const struct blind *blind)
{
    const struct blind_record record = {blind->reader->index, blind->source->index, blind->since_ns,
                                        blind->due_ns, blind->overdue};
    put_record(d, RECORD_BLIND, &record);
    const struct stall *stall;
    TAILQ_FOREACH (stall, &blind->stalls, of_blind) {
        const struct stall_record one = {blind->reader->index, blind->source->index,
                                         stall->attempt->number};
        put_record(d, RECORD_STALL, &one);
    }
}

static void dump_host(struct dumper *d, const struct host *host)
{
    if (host->joined) {
        uint64_t *units = d->lists;
        for (uint32_t i = 0; i < host->n_units * ENGINE_RESOURCES; i++)
            units[i] =
                (uint64_t)host->units[i / ENGINE_RESOURCES].total.amount[i % ENGINE_RESOURCES];
        struct event join = {.kind = EVENT_HOST_JOIN};
        join.host_join.host = host->index;
        join.host_join.generation = host->generation;
        join.host_join.name = host->name;
        join.host_join.rack = host->rack;
        join.host_join.labels = host->labels;
        join.host_join.uplink_bps = host->uplink_bps;
        join.host_join.downlink_bps = host->downlink_bps;
        join.host_join.units = (struct u64s){units, host->n_units * ENGINE_RESOURCES};
        put_event(d, &join);
    }
    struct host_record record = {
        .host = host->index,
        .joined = host->joined,
        .silent = host->silent,
        .lost = host->lost,
        .draining = host->draining,
        .uplink_permille = host->uplink_permille,
        .downlink_permille = host->downlink_permille,
        .tie_draws = host->tie_draws,
    };
    put_record(d, RECORD_HOST, &record);
    dump_reach(d, host);
}

enum { CHUNK = 8192 };

static void dump_tasks_given(struct dumper *d, const struct stage *stage)
{
    uint64_t *values = d->lists;
    for (uint32_t first = 0; first < stage->tasks_given; first += CHUNK) {
        uint32_t n = stage->tasks_given - first < CHUNK ? stage->tasks_given - first : CHUNK,
                 per = stage->replicas_per_task;
        for (uint32_t i = 0; i < n; i++) {
            values[i] = stage->tasks[first + i].input_bytes;
            values[CHUNK + i] = stage->tasks[first + i].compute_ns;
        }
        struct event event = {.kind = EVENT_JOB_TASKS};
        event.job_tasks.job = stage->job->number;
        event.job_tasks.stage = stage->index;
        event.job_tasks.first = first;
        event.job_tasks.replicas_per_task = per;
        event.job_tasks.replicas =
            (struct u32s){stage->replicas ? stage->replicas + (size_t)first * per : NULL, n * per};
        event.job_tasks.input_bytes = (struct u64s){values, n};
        event.job_tasks.compute_ns = (struct u64s){values + CHUNK, n};
        put_event(d, &event);
    }
}

static void dump_edge(struct dumper *d, const struct stage *stage, const struct edge *edge)
{
    for (uint64_t first = 0; first < edge->filled; first += CHUNK) {
        struct event event = {.kind = EVENT_JOB_BYTES};
        event.job_bytes.job = stage->job->number;
        event.job_bytes.stage = stage->index;
        event.job_bytes.parent = edge->parent;
        event.job_bytes.first = (uint32_t)first;
        event.job_bytes.matrix = edge->matrix;
        event.job_bytes.bytes =
            (struct u64s){edge->bytes + first,
                          (uint32_t)(edge->filled - first < CHUNK ? edge->filled - first : CHUNK)};
        put_event(d, &event);
    }
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
    put_event(d, &event);
    dump_tasks_given(d, stage);
    for (uint32_t i = 0; i < stage->n_edges; i++)
        if (stage->edges[i].given)
            dump_edge(d, stage, &stage->edges[i]);
}

static void dump_task(struct dumper *d, const struct task *task)
{
    if (task->state == TASK_BLOCKED && !task->failures && !task->ready_ns && !task->started_ns)
        return;
    struct task_record record = {
        .job = task->stage->job->number,
        .stage = task->stage->index,
        .task = task->index,
        .state = task->state,
        .failures = task->failures,
        .done_host = task->done_host,
        .done_attempt = task->done_attempt,
        .ready_ns = task->ready_ns,
        .started_ns = task->started_ns,
    };
    put_record(d, RECORD_TASK, &record);
}

static void dump_stage(struct dumper *d, const struct stage *stage)
{
    struct stage_record record = {
        .job = stage->job->number,
        .stage = stage->index,
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
    };
    put_record(d, RECORD_STAGE, &record);
    for (uint32_t t = 0; t < stage->n_tasks; t++)
        dump_task(d, &stage->tasks[t]);
}

static void dump_job(struct dumper *d, const struct job *job)
{
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
    put_event(d, &begin);
    for (uint32_t s = 0; s < job->n_stages; s++)
        dump_stage_given(d, job->stages[s]);
    struct job_record record = {
        .job = job->number,
        .state = job->state,
        .submitted_ns = job->submitted_ns,
        .slot_wait_ns = job->slot_wait_ns,
        .estimate_key = job->estimate_key,
        .hosts = job->hosts,
    };
    put_record(d, RECORD_JOB, &record);
    for (uint32_t s = 0; job->state == JOB_ACTIVE && s < job->n_stages; s++)
        dump_stage(d, job->stages[s]);
}

static void dump_attempt(struct dumper *d, const struct attempt *attempt)
{
    struct attempt_record record = {
        .attempt = attempt->number,
        .job = attempt->job_number,
        .stage = attempt->stage_index,
        .task = attempt->task_index,
        .host = attempt->host->index,
        .unit = attempt->unit,
        .state = attempt->state,
        .block_host = attempt->block_host,
        .resources = attempt->resources,
        .coflow_level = attempt->level[ORDER_COFLOW],
        .macroflow_level = attempt->level[ORDER_MACROFLOW],
        .coflow_bytes = attempt->bytes[ORDER_COFLOW],
        .macroflow_bytes = attempt->bytes[ORDER_MACROFLOW],
        .received_bytes = attempt->received_bytes,
        .remote_bytes = attempt->remote_bytes,
        .started_ns = attempt->started_ns,
        .left = attempt->left,
        .right = attempt->right,
        .orphan = !attempt->task,
        .receiving = attempt->receiving,
        .stopping = attempt->stopping,
        .reason = attempt->reason,
    };
    put_record(d, RECORD_ATTEMPT, &record);
}

/* The longest list of a record: of a host's units, a stage's edges (two numbers each) or tasks. */
static size_t lists_max(const struct engine_config *config)
{
    size_t units = (size_t)config->units_per_host_max * ENGINE_RESOURCES;
    size_t longest = units > config->stages_per_job_max ? units : config->stages_per_job_max;
    return longest > 2 * (size_t)CHUNK ? longest : 2 * (size_t)CHUNK;
}

size_t engine_dump_room(const struct engine *engine)
{
    return lists_max(&engine->config) * sizeof(uint64_t) + RECORD_MAX;
}

int engine_dump_in(const struct engine *engine, void *room,
                   int (*sink)(void *context, const char *line, size_t length), void *context)
{
    struct dumper d = {.sink = sink, .context = context, .lists = room};
    struct sorted_node *node;
    d.buffer = (char *)(d.lists + lists_max(&engine->config));
    put_record(&d, RECORD_CONFIG, &engine->config);
    const struct sources_record sources = {engine->config.source_lost_ns};
    if (sources.source_lost_ns)
        put_record(&d, RECORD_SOURCES, &sources);
    struct clock_record clock = {
        .now_ns = engine->now_ns,
        .mode_since_ns = engine->mode_since_ns,
        .mode_sequence = engine->mode_sequence,
        .attempt_counter = engine->attempt_counter,
        .keyed_slots = engine->keyed_slots,
        .keyed_bps = engine->keyed_bps,
        .mode = engine->mode,
        .congested = engine->congested,
    };
    put_record(&d, RECORD_CLOCK, &clock);
    /* WHY: in their own order, which ties between them follow, and also those without a job left:
     * they fill the table. */
    for (uint32_t i = 0; i < engine->n_shapes; i++)
        dump_shape(&d, engine->shapes[i]);
    for (uint32_t i = 0; i < engine->n_hosts; i++)
        if (engine->hosts[i])
            dump_host(&d, engine->hosts[i]);
    for (node = sorted_first(&engine->finished_age); node; node = sorted_next(node))
        put_record(&d, RECORD_FINISHED, container_of(node, struct finished, by_age));
    for (node = sorted_first(&engine->jobs); node; node = sorted_next(node))
        dump_job(&d, container_of(node, struct job, by_number));
    for (node = sorted_first(&engine->attempts); node; node = sorted_next(node))
        dump_attempt(&d, container_of(node, struct attempt, by_number));
    for (node = sorted_first(&engine->blind); node; node = sorted_next(node))
        dump_blind(&d, container_of(node, struct blind, by_source));
    int r = policy_dump(engine, d.buffer, put_line, &d);
    d.error = d.error ? d.error : r;
    put_record(&d, RECORD_END, NULL);
    return d.error;
}

int engine_dump(const struct engine *engine,
                int (*sink)(void *context, const char *line, size_t length), void *context)
{
    void *room = malloc(engine_dump_room(engine));
    int r = room ? engine_dump_in(engine, room, sink, context) : -ENOMEM;
    free(room);
    return r;
}

static int hash_line(void *context, const char *line, size_t length)
{
    uint64_t *hash = context;
    *hash = fnv1a(fnv1a(*hash, line, length), "\n", 1);
    return 0;
}

uint64_t engine_digest(const struct engine *engine)
{
    uint64_t hash = FNV1A_NOTHING;
    engine_dump(engine, hash_line, &hash);
    return hash;
}

union record {
    struct engine_config config;
    struct clock_record clock;
    struct shape_record shape;
    struct host_record host;
    struct job_record job;
    struct stage_record stage;
    struct task_record task;
    struct attempt_record attempt;
    struct finished finished;
    struct sources_record sources;
    struct reach_record reach;
    struct blind_record blind;
    struct stall_record stall;
};

static int load_host(struct engine *engine, const struct host_record *record, struct err *err)
{
    struct host *host = cluster_adopt(engine, record->host);
    if (!host || host->joined != record->joined)
        return err_set(err, EINVAL, "host %u joined without its record, or is beyond the bound",
                       record->host);
    cluster_restore(engine, host, record->silent, record->lost, record->draining,
                    record->uplink_permille);
    host->downlink_permille = record->downlink_permille;
    host->tie_draws = record->tie_draws - 1;
    host_draw_tie(engine, host);
    host_touch(engine, host);
    return 0;
}

static int load_job(struct engine *engine, const struct job_record *record, struct err *err)
{
    struct job *job = job_find(engine, record->job);
    if (!job || record->state > JOB_ACTIVE)
        return err_set(err, EINVAL,
                       "job %" PRIu64 " has no parts, or a state that a live job cannot have",
                       record->job);
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

static int load_stage(struct engine *engine, const struct stage_record *record, struct err *err)
{
    struct task *first = job_find_task(engine, record->job, record->stage, 0);
    if (!first || first->stage->job->state != JOB_ACTIVE)
        return err_set(err, EINVAL, "stage %u of job %" PRIu64 " is not there", record->stage,
                       record->job);
    struct stage *stage = first->stage;
    stage->open = record->open;
    stage->coflow_fixed = record->coflow_fixed;
    stage->coflow_bytes = record->coflow_bytes;
    stage->received_bytes = record->received_bytes;
    stage->held = record->held;
    stage->overdue = record->overdue;
    stage->hold_reason = record->hold_reason;
    stage->hold_left = record->hold_left;
    stage->hold_right = record->hold_right;
    stage->held_since_ns = record->held_since_ns;
    stage->held_until_ns = record->held_until_ns;
    stage->hold_due_ns = record->hold_due_ns;
    return 0;
}

static int load_task(struct engine *engine, const struct task_record *record, struct err *err)
{
    struct task *task = job_find_task(engine, record->job, record->stage, record->task);
    struct host *host = cluster_host(engine, record->done_host);
    if (!task || task->state != TASK_BLOCKED || record->state > TASK_DONE ||
        (record->state == TASK_DONE && !host))
        return err_set(err, EINVAL,
                       "task %" PRIu64 "/%u/%u is not there, comes twice, or was done nowhere",
                       record->job, record->stage, record->task);
    task_restore(engine, task, (enum task_state)record->state, record->done_attempt, host);
    task->failures = record->failures;
    task->ready_ns = record->ready_ns;
    task->started_ns = record->started_ns;
    return 0;
}

static int load_attempt(struct engine *engine, const struct attempt_record *record, struct err *err)
{
    struct task *task =
        record->orphan ? NULL : job_find_task(engine, record->job, record->stage, record->task);
    struct host *host = cluster_host(engine, record->host);
    if (!host || (!task && !record->orphan) || attempt_find(engine, record->attempt) ||
        record->state > ATTEMPT_LOST)
        return err_set(err, EINVAL, "attempt %" PRIu64 " has no task or host, or comes twice",
                       record->attempt);
    struct attempt *attempt =
        attempt_create(engine, record->attempt, task, host, record->unit, &record->resources);
    attempt->job_number = record->job;
    attempt->stage_index = record->stage;
    attempt->task_index = record->task;
    attempt->state = (enum attempt_state)record->state;
    attempt->block_host = record->block_host;
    if (task)
        source_set_block(engine, attempt, record->block_host);
    attempt->level[ORDER_COFLOW] = record->coflow_level;
    attempt->level[ORDER_MACROFLOW] = record->macroflow_level;
    attempt->bytes[ORDER_COFLOW] = record->coflow_bytes;
    attempt->bytes[ORDER_MACROFLOW] = record->macroflow_bytes;
    attempt->received_bytes = record->received_bytes;
    attempt->remote_bytes = record->remote_bytes;
    attempt->started_ns = record->started_ns;
    attempt->left = record->left;
    attempt->right = record->right;
    attempt->reason = record->reason;
    attempt->stopping = record->stopping;
    attempt_set_receiving(attempt, record->receiving);
    host_touch(engine, host);
    return 0;
}

static int load_sources(struct engine *engine, const struct sources_record *record, struct err *err)
{
    if (record->source_lost_ns < 0)
        return err_set(err, EINVAL, "source_lost_ns must not be negative");
    engine->config.source_lost_ns = record->source_lost_ns;
    return 0;
}

static int load_reach(struct engine *engine, const struct reach_record *record, struct err *err)
{
    struct host *host = cluster_host(engine, record->host);
    if (!host || host->reach.suspect || record->strikes > SOURCE_STRIKES_MAX)
        return err_set(err, EINVAL, "host %u is not there, or its reach comes twice", record->host);
    engine->struck += record->strikes > 0;
    host->reach.strikes = record->strikes;
    host->reach.mute = record->mute;
    host->reach.blind = record->blind;
    host->reach.reached = record->reached;
    host->reach.cut = record->cut;
    host->reach.suspect_since_ns = record->suspect_since_ns;
    if (record->suspect)
        cluster_set_suspect(engine, host, true);
    return 0;
}

static int load_blind(struct engine *engine, const struct blind_record *record, struct err *err)
{
    struct host *reader = cluster_host(engine, record->reader),
                *source = cluster_host(engine, record->source);
    if (!reader || !source ||
        !source_restore(engine, reader, source, record->since_ns, record->due_ns, record->overdue))
        return err_set(err, EINVAL, "hosts %u and %u are not there, or come twice", record->reader,
                       record->source);
    return 0;
}

static int load_stall(struct engine *engine, const struct stall_record *record, struct err *err)
{
    struct blind *blind = source_find(engine, record->reader, record->source);
    struct attempt *attempt = attempt_find(engine, record->attempt);
    if (!blind || !attempt || !attempt->task || attempt->host != blind->reader)
        return err_set(err, EINVAL, "attempt %" PRIu64 " waits for host %u without being there",
                       record->attempt, record->source);
    source_restore_stall(engine, blind, attempt);
    return 0;
}

static void load_finished(struct engine *engine, const struct finished *record)
{
    struct finished *finished = engine_allocate(engine, 1, sizeof(*finished));
    *finished = *record;
    job_remember(engine, finished);
}

static void load_clock(struct engine *engine, const struct clock_record *record)
{
    engine->now_ns = record->now_ns;
    engine->mode_since_ns = record->mode_since_ns;
    engine->mode_sequence = record->mode_sequence;
    engine->attempt_counter = record->attempt_counter;
    engine->mode = record->mode ? MODE_SLOT_STARVED : MODE_SLOT_RICH;
}

/* What needs everything else to be there: holds, and the flags that loading hosts has overwritten.
 */
static void load_end(struct engine *engine, const struct clock_record *clock)
{
    for (struct sorted_node *node = sorted_first(&engine->active); node; node = sorted_next(node)) {
        struct job *job = container_of(node, struct job, by_turn);
        for (uint32_t s = 0; s < job->n_stages; s++)
            if (job->stages[s]->held || job->stages[s]->overdue)
                hold_restore(engine, job->stages[s]);
    }
    order_rebuild(engine);
    engine->congested = clock->congested;
    engine->keyed_slots = clock->keyed_slots;
    engine->keyed_bps = clock->keyed_bps;
    mode_restore(engine);
    memset(&engine->counters, 0, sizeof(engine->counters));
}

/* All facts are there: policies make their states of them. */
static void load_policies(struct engine *engine, const struct clock_record *clock)
{
    if (!engine->suspended)
        return;
    policy_begin(engine);
    if (clock->draws != NO_DRAWS)
        policy_load_former(engine, "draws", clock->draws);
}

struct loader {
    struct engine *engine;
    struct record_room room;
    struct decisions decisions;
    struct clock_record clock;
    bool ended;
};

static int load_event(struct loader *l, const char *line, struct err *err)
{
    struct event event;
    int r = record_decode_event(line, &l->room, &event, err);
    if (r < 0)
        return r;
    l->decisions.n = 0;
    engine_apply(l->engine, &event);
    return l->decisions.n ? err_set(err, EINVAL, "the engine rejects it (%s)",
                                    reason_name(l->decisions.at[0].reason))
                          : 0;
}

static int load_record(struct loader *l, int kind, const char *line, struct err *err)
{
    union record record = {0};
    if (kind == RECORD_CLOCK)
        record.clock.draws = NO_DRAWS;
    int r = field_decode(&kinds[kind], line, NULL, &record, err);
    if (r < 0)
        return r;
    switch (kind) {
    case RECORD_CLOCK:
        load_clock(l->engine, &record.clock);
        l->clock = record.clock;
        return 0;
    case RECORD_SHAPE:
        if (!cluster_shape_create(l->engine, &record.shape.demand, record.shape.constraint))
            return err_set(err, EINVAL, "more than %u shapes", l->engine->config.shapes_max);
        return 0;
    case RECORD_HOST:
        return load_host(l->engine, &record.host, err);
    case RECORD_JOB:
        return load_job(l->engine, &record.job, err);
    case RECORD_STAGE:
        return load_stage(l->engine, &record.stage, err);
    case RECORD_TASK:
        return load_task(l->engine, &record.task, err);
    case RECORD_ATTEMPT:
        return load_attempt(l->engine, &record.attempt, err);
    case RECORD_FINISHED:
        load_finished(l->engine, &record.finished);
        return 0;
    case RECORD_SOURCES:
        return load_sources(l->engine, &record.sources, err);
    case RECORD_REACH:
        return load_reach(l->engine, &record.reach, err);
    case RECORD_BLIND:
        return load_blind(l->engine, &record.blind, err);
    case RECORD_STALL:
        return load_stall(l->engine, &record.stall, err);
    case RECORD_END:
        l->ended = true;
        load_policies(l->engine, &l->clock);
        load_end(l->engine, &l->clock);
        return 0;
    default:
        return err_set(err, EINVAL, "a second configuration");
    }
}

static int load_first(struct loader *l, const char *line, struct err *err)
{
    struct engine_config config = {0};
    int kind = field_kind(kinds, RECORDS, line, err);
    if (kind != RECORD_CONFIG)
        return err_set(err, EINVAL, "a dump begins with its configuration");
    int r = field_decode(&kinds[RECORD_CONFIG], line, NULL, &config, err);
    r = r < 0 ? r : engine_create(&config, &l->engine, err);
    if (r == 0)
        policy_suspend(l->engine);
    return r;
}

static int load_line(struct loader *l, const char *line, struct err *err)
{
    if (!l->engine)
        return load_first(l, line, err);
    /* WHY: see engine_step. */
    l->engine->out = &l->decisions;
    if (setjmp(l->engine->no_memory))
        return err_set(err, ENOMEM, "no memory");
    if (policy_is_record(line)) {
        load_policies(l->engine, &l->clock);
        return policy_load(l->engine, line, err);
    }
    int kind = field_kind(kinds, RECORDS, line, NULL);
    return kind < 0 ? load_event(l, line, err) : load_record(l, kind, line, err);
}

int engine_load(int (*next)(void *context, const char **ret_line), void *context,
                struct engine **ret_engine, struct err *err)
{
    struct loader l = {0};
    const char *line;
    int r = 0, number = 0;
    while (!l.ended && r >= 0) {
        r = next(context, &line);
        if (r <= 0)
            break;
        number++;
        r = load_line(&l, line, err);
        if (r < 0)
            err_prefix(err, "line %d", number);
    }
    if (r >= 0 && !l.ended)
        r = err_set(err, EINVAL, "line %d: the dump ends before its end", number);
    record_room_done(&l.room);
    decisions_done(&l.decisions);
    if (r < 0) {
        engine_destroy(l.engine);
        return r;
    }
    l.engine->out = NULL;
    *ret_engine = l.engine;
    return 0;
}
