/* Frameworks' jobs in a dump: the facts that make them, then the rest of their state. */
#include "controller/engine/base/job_stages.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/outputs.h"
#include "controller/engine/books/room.h"
#include "controller/engine/dump/dump.h"
#include "controller/engine/facts/framework_grow.h"
#include "controller/engine/facts/framework_skip.h"
#include "controller/engine/watch/allow.h"
#include "controller/engine/watch/framework_sizes.h"
#include "controller/engine/watch/gate.h"
#include "controller/engine/watch/locality.h"

#include <errno.h>
#include <inttypes.h>

struct sizes_record {
    uint64_t input, shuffle, n_means, history, mean;
};
struct growing_record {
    uint64_t job;
    int64_t submitted_ns, slot_wait_ns;
    uint64_t estimate_key;
    uint32_t hosts;
    bool last;
};
/* Before the stage that it concerns. */
struct apart_record {
    uint64_t job;
    uint32_t stage;
};
struct gate_record {
    uint64_t job;
    uint32_t stage;
    bool announced, offered, ungated, left, waits, bindable, bound;
    uint32_t unused;
    uint64_t guess;
    int64_t ready_ns, due_ns;
};
struct foreign_record {
    uint64_t attempt;
    int64_t allowed_until_ns;
};
DUMP_FITS(struct sizes_record);
DUMP_FITS(struct growing_record);
DUMP_FITS(struct apart_record);
struct sized_record {
    uint64_t job;
    uint32_t stage, task;
    uint64_t bytes;
    bool otherwise; /* known by all reports but counts as guessed, or vice versa */
};
struct sizing_record {
    uint64_t job;
    uint32_t stage, next, unsized;
};
struct told_record {
    uint64_t job;
    uint32_t stage, told;
    bool announces;
};
DUMP_FITS(struct told_record);
/* Before the stage's tasks. */
struct keeping_record {
    uint64_t job;
    uint32_t stage, next;
};
DUMP_FITS(struct keeping_record);
struct skipping_record {
    uint64_t job;
    uint32_t stage, next, unskipped;
};
DUMP_FITS(struct sizing_record);
DUMP_FITS(struct skipping_record);
DUMP_FITS(struct gate_record);
DUMP_FITS(struct sized_record);
DUMP_FITS(struct foreign_record);

/* The sums, then each mean of the ring (history 0), then each history. */
static int load_sizes(struct engine *engine, const void *object, struct err *err)
{
    const struct sizes_record *record = object;
    struct sizes *sizes = sizes_of(engine);
    (void)err;
    sizes->input = record->input;
    sizes->shuffle = record->shuffle;
    if (record->history)
        sizes_remember(engine, record->history, record->mean);
    else if (record->n_means)
        sizes->means[((sizes->n_means = record->n_means) - 1) % SIZES_MEANS] = record->mean;
    return 0;
}

static struct job *find(const struct engine *engine, uint64_t number)
{
    struct job *job = job_find(engine, number);
    return job && job->framework ? job : NULL;
}

static int load_growing(struct engine *engine, const void *object, struct err *err)
{
    const struct growing_record *record = object;
    struct job *job = find(engine, record->job);
    if (!job || !record->hosts)
        return err_set(err, EINVAL, "job %" PRIu64 " is no framework's, or has no hosts",
                       record->job);
    job->submitted_ns = record->submitted_ns;
    job->slot_wait_ns = record->slot_wait_ns;
    job->estimate_key = record->estimate_key;
    job->hosts = record->hosts;
    job->framework->last = record->last;
    return 0;
}

static int load_apart(struct engine *engine, const void *object, struct err *err)
{
    const struct apart_record *record = object;
    const struct job *job = find(engine, record->job);
    if (!job || job_stage_at(job, record->stage))
        return err_set(err, EINVAL, "stage %u of job %" PRIu64 " is there, or its job is not",
                       record->stage, record->job);
    engine->next_apart = true;
    return 0;
}

static int load_gate(struct engine *engine, const void *object, struct err *err)
{
    const struct gate_record *record = object;
    struct job *job = find(engine, record->job);
    struct stage *stage = job ? job_stage_at(job, record->stage) : NULL;
    if (!stage)
        return err_set(err, EINVAL, "stage %u of job %" PRIu64 " is no framework's", record->stage,
                       record->job);
    struct framework_stage *own = stage->framework;
    own->announced = record->announced;
    own->offered = record->offered;
    own->ungated = record->ungated;
    own->left = record->left;
    own->bindable = record->bindable;
    own->bound = record->bound;
    own->unused = record->unused;
    for (uint32_t i = 0; i < stage->n_children; i++)
        sizes_follow_parents(engine, job_stage_at(job, stage->children[i]));
    sizes_follow_parents(engine, stage);
    sizes_restore_guess(engine, stage, record->guess);
    own->ready_ns = record->ready_ns;
    own->due_ns = record->due_ns;
    own->waits = record->waits;
    return 0;
}

/* After its stage's gate, which has sized all tasks by all reports. */
static int load_sized(struct engine *engine, const void *object, struct err *err)
{
    const struct sized_record *record = object;
    struct job *job = find(engine, record->job);
    struct stage *stage = job ? job_stage_at(job, record->stage) : NULL;
    if (!stage || !stage->n_edges || record->task >= stage->n_tasks)
        return err_set(err, EINVAL, "task %" PRIu64 "/%u/%u is no framework's, or reads nothing",
                       record->job, record->stage, record->task);
    sizes_restore_task(engine, &stage->tasks[record->task], record->bytes, record->otherwise);
    return 0;
}

static int load_sizing(struct engine *engine, const void *object, struct err *err)
{
    const struct sizing_record *record = object;
    struct job *job = find(engine, record->job);
    struct stage *stage = job ? job_stage_at(job, record->stage) : NULL;
    if (!stage || record->next >= stage->n_tasks || record->unsized > stage->n_tasks)
        return err_set(err, EINVAL, "stage %u of job %" PRIu64 " has no %u tasks to be sized",
                       record->stage, record->job, record->unsized);
    sizes_restore_sizing(engine, stage, record->next, record->unsized);
    return 0;
}

static int load_keeping(struct engine *engine, const void *object, struct err *err)
{
    const struct keeping_record *record = object;
    struct job *job = find(engine, record->job);
    struct stage *stage = job ? job_stage_at(job, record->stage) : NULL;
    if (!stage || record->next >= stage->n_tasks || stage->n_done)
        return err_set(err, EINVAL,
                       "stage %u of job %" PRIu64 " has no task %u, or its outputs are counted",
                       record->stage, record->job, record->next);
    outputs_restore(engine, stage, record->next);
    return 0;
}

static int load_told(struct engine *engine, const void *object, struct err *err)
{
    const struct told_record *record = object;
    struct job *job = find(engine, record->job);
    struct stage *stage = job ? job_stage_at(job, record->stage) : NULL;
    if (!stage || !growing_restore(engine, stage, record->told, record->announces))
        return err_set(err, EINVAL,
                       "stage %u of job %" PRIu64 " has %u tasks already, or may not have so many",
                       record->stage, record->job, record->told);
    return 0;
}

static int load_skipping(struct engine *engine, const void *object, struct err *err)
{
    const struct skipping_record *record = object;
    struct job *job = find(engine, record->job);
    struct stage *stage = job ? job_stage_at(job, record->stage) : NULL;
    if (!stage || record->next >= framework_tasks_of(stage) ||
        record->unskipped > framework_tasks_of(stage))
        return err_set(err, EINVAL, "stage %u of job %" PRIu64 " has no %u tasks to be skipped",
                       record->stage, record->job, record->unskipped);
    skipping_restore(engine, stage, record->next, record->unskipped);
    return 0;
}

static int load_foreign(struct engine *engine, const void *object, struct err *err)
{
    const struct foreign_record *record = object;
    struct attempt *attempt = attempt_find(engine, record->attempt);
    if (!attempt || record->allowed_until_ns < 0 ||
        (attempt->task && !attempt->task->stage->framework))
        return err_set(err, EINVAL, "attempt %" PRIu64 " is no framework's", record->attempt);
    attempt->foreign = true;
    if (!record->allowed_until_ns)
        account_join_attempt(engine, attempt);
    room_enter(engine, attempt);
    host_touch(engine, attempt->host);
    if (record->allowed_until_ns)
        allow_restore(engine, attempt, record->allowed_until_ns);
    return 0;
}

#define F FIELD_OF

enum { SIZES, GROWING, APART, GATE, SIZED, SIZING, FOREIGN, SKIPPING, TOLD, KEEPING };
const struct dump_kind framework_kinds[] = {
    [SIZES] = {{"sizes",
                {F(sizes_record, input, U64), F(sizes_record, shuffle, U64),
                 F(sizes_record, n_means, U64), F(sizes_record, history, U64),
                 F(sizes_record, mean, U64)}},
               load_sizes},
    [GROWING] = {{"growing",
                  {F(growing_record, job, U64), F(growing_record, submitted_ns, I64),
                   F(growing_record, slot_wait_ns, I64), F(growing_record, estimate_key, U64),
                   F(growing_record, hosts, U32), FIELD_ADDED(growing_record, last, BOOL)}},
                 load_growing},
    [APART] = {{"apart", {F(apart_record, job, U64), F(apart_record, stage, U32)}}, load_apart},
    [GATE] = {{"gate",
               {F(gate_record, job, U64), F(gate_record, stage, U32),
                F(gate_record, announced, BOOL), F(gate_record, offered, BOOL),
                F(gate_record, ungated, BOOL), F(gate_record, left, BOOL),
                F(gate_record, waits, BOOL), F(gate_record, unused, U32),
                F(gate_record, guess, U64), F(gate_record, ready_ns, I64),
                F(gate_record, due_ns, I64), FIELD_LEAN(gate_record, bindable, BOOL),
                FIELD_LEAN(gate_record, bound, BOOL)}},
              load_gate},
    [SIZED] = {{"sized",
                {F(sized_record, job, U64), F(sized_record, stage, U32), F(sized_record, task, U32),
                 F(sized_record, bytes, U64), FIELD_ADDED(sized_record, otherwise, BOOL)}},
               load_sized},
    [SIZING] = {{"sizing",
                 {F(sizing_record, job, U64), F(sizing_record, stage, U32),
                  F(sizing_record, next, U32), F(sizing_record, unsized, U32)}},
                load_sizing},
    [FOREIGN] = {{"foreign",
                  {F(foreign_record, attempt, U64), F(foreign_record, allowed_until_ns, I64)}},
                 load_foreign},
    [SKIPPING] = {{"skipping",
                   {F(skipping_record, job, U64), F(skipping_record, stage, U32),
                    F(skipping_record, next, U32), F(skipping_record, unskipped, U32)}},
                  load_skipping},
    [TOLD] = {{"told",
               {F(told_record, job, U64), F(told_record, stage, U32), F(told_record, told, U32),
                F(told_record, announces, BOOL)}},
              load_told},
    [KEEPING] = {{"keeping",
                  {F(keeping_record, job, U64), F(keeping_record, stage, U32),
                   F(keeping_record, next, U32)}},
                 load_keeping},
    {{0}, NULL},
};

void framework_dump_sizes(struct dumper *d, const struct engine *engine)
{
    const struct sizes *sizes = engine->sizes;
    if (!sizes)
        return;
    struct sizes_record record = {.input = sizes->input, .shuffle = sizes->shuffle};
    uint64_t first = sizes->n_means > SIZES_MEANS ? sizes->n_means - SIZES_MEANS : 0;
    dump_record(d, &framework_kinds[SIZES].kind, &record);
    for (uint64_t i = first; i < sizes->n_means; i++) {
        record.n_means = i + 1;
        record.mean = sizes->means[i % SIZES_MEANS];
        dump_record(d, &framework_kinds[SIZES].kind, &record);
    }
    for (struct sorted_node *node = sorted_first(&sizes->by_age); node; node = sorted_next(node)) {
        const struct sizes_stage *stage = container_of(node, struct sizes_stage, by_age);
        record.history = stage->history;
        record.mean = stage->mean;
        dump_record(d, &framework_kinds[SIZES].kind, &record);
    }
}

static struct event piece(const struct stage *stage, const struct edge *edge,
                          enum framework_form form, uint32_t first)
{
    struct event event = {.kind = EVENT_FRAMEWORK_BYTES};
    event.framework_bytes.job = stage->job->number;
    event.framework_bytes.stage = stage->index;
    event.framework_bytes.parent = edge->parent;
    event.framework_bytes.form = form;
    event.framework_bytes.first = first;
    return event;
}

/* The i-th of the row's cells. */
static uint32_t cell_at(const struct late_row *row, uint32_t i, uint64_t *ret_bytes)
{
    const struct late_cell *cell = i < row->n ? NULL : &row->told->cells[i - row->n];
    *ret_bytes = cell ? cell->bytes : row->told->bytes[i];
    return cell ? cell->reduce : i;
}

static void dump_row(struct dumper *d, const struct stage *stage, const struct edge *edge,
                     uint32_t map, const struct late_row *row)
{
    uint32_t *at = (uint32_t *)(d->lists + DUMP_CHUNK), all = row->n + row->told->n_cells;
    for (uint32_t first = 0; first == 0 || first < all; first += DUMP_CHUNK) {
        uint32_t n = all - first < DUMP_CHUNK ? all - first : DUMP_CHUNK;
        struct event event = piece(stage, edge, BYTES_CELLS, map);
        for (uint32_t i = 0; i < n; i++)
            at[i] = cell_at(row, first + i, &d->lists[i]);
        event.framework_bytes.at = (struct u32s){at, n};
        event.framework_bytes.bytes = (struct u64s){d->lists, n};
        dump_event(d, &event);
    }
}

static void dump_sum(struct dumper *d, const struct stage *stage, const struct edge *edge,
                     uint32_t index, uint64_t sum)
{
    const struct late_split split = late_split_of(edge->late, index);
    struct event event = piece(stage, edge, split.n ? BYTES_HOSTS : BYTES_SUMS, index);
    event.framework_bytes.at = (struct u32s){split.hosts, split.n};
    event.framework_bytes.bytes =
        split.n ? (struct u64s){split.bytes, split.n} : (struct u64s){&sum, 1};
    dump_event(d, &event);
}

static void dump_bytes(struct dumper *d, const struct stage *stage, const struct edge *edge)
{
    const struct late_edge *late = edge->late;
    const struct stage *parent = job_stage_at(stage->job, edge->parent);
    for (uint32_t m = 0; late->n_rows && m < parent->n_tasks; m++) {
        const struct late_row *row = late_row_find(late, m);
        if (row)
            dump_row(d, stage, edge, m, row);
    }
    for (uint32_t r = 0; late->blocks_room && r < stage->n_tasks; r++) {
        const struct late_block *block = late_block_find(late, r);
        if (block && late_is_summed(block, r))
            dump_sum(d, stage, edge, r, block->sums[r % LATE_BLOCK]);
    }
}

static void dump_given(struct dumper *d, const struct stage *stage)
{
    uint32_t *lists = (uint32_t *)d->lists;
    const struct apart_record apart = {stage->job->number, stage->index};
    if (stage->framework->apart)
        dump_record(d, &framework_kinds[APART].kind, &apart);
    for (uint32_t i = 0; i < stage->n_edges; i++) {
        lists[i] = stage->edges[i].parent;
        lists[stage->n_edges + i] = stage->edges[i].kind;
    }
    struct event event = {.kind = EVENT_FRAMEWORK_STAGE};
    event.framework_stage.job = stage->job->number;
    event.framework_stage.stage = stage->index;
    event.framework_stage.tasks = stage->n_tasks;
    event.framework_stage.demand = stage->bucket->shape->demand;
    event.framework_stage.parents = (struct u32s){lists, stage->n_edges};
    event.framework_stage.edges = (struct u32s){lists + stage->n_edges, stage->n_edges};
    event.framework_stage.history = stage->framework->history;
    dump_event(d, &event);
}

void framework_dump_given(struct dumper *d, const struct job *job)
{
    struct event begin = {.kind = EVENT_FRAMEWORK_JOB};
    begin.framework_job.job = job->number;
    begin.framework_job.name = job->name;
    begin.framework_job.user = job->user;
    begin.framework_job.priority = job->priority;
    dump_event(d, &begin);
    for (uint32_t s = 0; s < job->n_stages; s++) {
        dump_given(d, job->stages[s]);
        job_dump_tasks_given(d, job->stages[s]);
    }
    for (uint32_t s = 0; s < job->n_stages; s++)
        for (uint32_t i = 0; i < job->stages[s]->n_edges; i++)
            dump_bytes(d, job->stages[s], &job->stages[s]->edges[i]);
    const struct growing_record record = {job->number,       job->submitted_ns,
                                          job->slot_wait_ns, job->estimate_key,
                                          job->hosts,        job->framework->last};
    dump_record(d, &framework_kinds[GROWING].kind, &record);
}

void framework_dump_stage(struct dumper *d, const struct stage *stage)
{
    const struct framework_stage *own = stage->framework;
    const struct gate_record record = {
        .job = stage->job->number,
        .stage = stage->index,
        .announced = own->announced,
        .offered = own->offered,
        .ungated = own->ungated,
        .left = own->left,
        .waits = own->waits,
        .unused = own->unused,
        .guess = own->guess,
        .ready_ns = own->waits ? own->ready_ns : 0,
        .due_ns = own->due_ns,
        .bindable = own->bindable,
        .bound = own->bound,
    };
    dump_record(d, &framework_kinds[GATE].kind, &record);
    for (uint32_t t = 0; t < stage->n_tasks; t++) {
        struct sized_record sized = {record.job, record.stage, t, stage->tasks[t].bytes, false};
        if (sizes_is_behind(&stage->tasks[t], &sized.otherwise))
            dump_record(d, &framework_kinds[SIZED].kind, &sized);
    }
    const struct sizing_record sizing = {record.job, record.stage, own->sizing, own->unsized};
    if (own->unsized)
        dump_record(d, &framework_kinds[SIZING].kind, &sizing);
    const struct keeping_record keeping = {record.job, record.stage, own->kept};
    if (own->of_keeping.in)
        dump_record(d, &framework_kinds[KEEPING].kind, &keeping);
    const struct told_record told = {record.job, record.stage, own->told, own->announces};
    if (own->told > stage->n_tasks)
        dump_record(d, &framework_kinds[TOLD].kind, &told);
    const struct skipping_record skipping = {record.job, record.stage, own->skipping,
                                             own->unskipped};
    if (own->unskipped)
        dump_record(d, &framework_kinds[SKIPPING].kind, &skipping);
}

void framework_dump_attempt(struct dumper *d, const struct attempt *attempt)
{
    const struct foreign_record record = {attempt->number, attempt->allowed_until_ns};
    dump_record(d, &framework_kinds[FOREIGN].kind, &record);
}
