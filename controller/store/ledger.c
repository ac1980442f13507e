#include "controller/store/ledger.h"

#include "controller/engine/base/record.h"
#include "controller/frameworks/framework_numbers.h"
#include "controller/store/division_setting.h"
#include "controller/store/job_setting.h"
#include "controller/store/record_times.h"
#include "controller/store/split_rows.h"
#include "lib/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

/* Which bytes of an edge a part has. */
struct piece {
    uint32_t stage, parent, matrix, first, n;
};

struct note {
    enum event_kind kind;
    uint64_t request;
    uint64_t job, attempt;
    char *record; /* of a job's part; owned */
    int length;
    struct piece piece; /* of JOB_BYTES */
    uint32_t stage, task, host, failures;
    int64_t ready_ns, started_ns, ended_ns;
};

/* Bytes that were told piece by piece, and have no row yet: one for all jobs. */
struct pending {
    uint64_t job; /* 0: none */
    struct piece piece;
    char *record;
    size_t length, size;
};

/* A job that has not come whole. */
struct arriving {
    UT_hash_handle hh;
    uint64_t job;
    int64_t parts; /* that have rows */
};

/* Bytes of a row. */
enum { ROW_FULL = 32768 };

struct ledger {
    struct store *store;
    const struct engine *engine;
    int64_t offset_ns;
    struct note *notes;
    size_t n, size;
    uint32_t *moved; /* hosts whose rows are to be put */
    size_t n_moved, moved_size;
    bool failed;   /* memory was short */
    bool passes;   /* ledger_pass_over */
    void *scratch; /* of engine_dump_job */
    char *record;  /* with wall-clock times */
    size_t length; /* of `record` */
    struct arriving *arriving;
    struct pending pending;
    uint64_t sizes;    /* the last place in the order of learning that has a row */
    uint64_t division; /* the changes of how the cluster is divided, as it was put last, */
    time_t put_s;      /* then */
};

int ledger_create(struct store *store, const struct engine *engine, int64_t offset_ns,
                  struct ledger **ret_ledger)
{
    struct ledger *ledger = calloc(1, sizeof(*ledger));
    if (!ledger)
        return -ENOMEM;
    *ledger = (struct ledger){.store = store,
                              .engine = engine,
                              .offset_ns = offset_ns,
                              .division = engine_division(engine).changes};
    struct sizes_view sizes;
    while (engine_sizes_after(engine, ledger->sizes, &sizes) == 0)
        ledger->sizes = sizes.place;
    ledger->scratch = malloc(engine_dump_room(engine));
    ledger->record = malloc(RECORD_TIMES_MAX);
    if (!ledger->scratch || !ledger->record) {
        ledger_destroy(ledger);
        return -ENOMEM;
    }
    *ret_ledger = ledger;
    return 0;
}

void ledger_destroy(struct ledger *ledger)
{
    if (!ledger)
        return;
    struct arriving *arriving, *next;
    HASH_ITER (hh, ledger->arriving, arriving, next) {
        HASH_DEL(ledger->arriving, arriving);
        free(arriving);
    }
    for (size_t i = 0; i < ledger->n; i++)
        free(ledger->notes[i].record);
    free(ledger->notes);
    free(ledger->pending.record);
    free(ledger->moved);
    free(ledger->scratch);
    free(ledger->record);
    free(ledger);
}

static bool note_add(struct ledger *ledger, const struct note *note)
{
    if (!array_grow(ledger->notes, ledger->n, ledger->size, 64)) {
        ledger->failed = true;
        return false;
    }
    ledger->notes[ledger->n++] = *note;
    return true;
}

/* Its framework reports all of it again while it runs. */
static bool is_frameworks(uint64_t job)
{
    return job & FRAMEWORK_JOB_BIT;
}

static void ledger_attempt_over(void *user, const struct fact *fact)
{
    const struct attempt_view *attempt = &fact->attempt;
    const struct task_view *task = &fact->task;
    const enum event_kind kind = fact->event->kind;
    if ((kind != EVENT_ATTEMPT_DONE && kind != EVENT_ATTEMPT_FAILED &&
         kind != EVENT_ATTEMPT_REFUSED) ||
        is_frameworks(attempt->job) || !fact->task_known)
        return;
    note_add(user, &(struct note){
                       .kind = kind,
                       .job = attempt->job,
                       .attempt = attempt->attempt,
                       .stage = attempt->stage,
                       .task = attempt->task,
                       .host = attempt->host,
                       .failures = task->failures,
                       .ready_ns = task->ready_ns,
                       .started_ns =
                           task->state == TASK_RUNNING ? task->started_ns : fact->ending.ended_ns,
                       .ended_ns = fact->ending.ended_ns,
                   });
}

/* WHY as it comes: written when the job is complete, a large job's parts would be a second's work
 * at once. */
static void part_note(struct ledger *ledger, const struct event *event)
{
    struct event bare = *event;
    bare.request = 0;
    int n = record_encode_event(&bare, ledger->scratch, RECORD_MAX);
    struct note note = {.kind = event->kind,
                        .request = event->request,
                        .job = event->job_begin.job, /* the first field of each part */
                        .record = n < 0 ? NULL : strndup(ledger->scratch, (size_t)n),
                        .length = n};
    if (event->kind == EVENT_JOB_BYTES)
        note.piece =
            (struct piece){event->job_bytes.stage, event->job_bytes.parent, event->job_bytes.matrix,
                           event->job_bytes.first, event->job_bytes.bytes.n};
    if (!note.record || !note_add(ledger, &note)) {
        free(note.record);
        ledger->failed = true;
    }
}

void ledger_pass_over(struct ledger *ledger)
{
    ledger->passes = true;
}

/* WHY the beginning alone: what follows of a job that did not begin is not written either. */
static void begin_note(struct ledger *ledger, const struct event *event)
{
    if (!ledger->passes)
        part_note(ledger, event);
    ledger->passes = false;
}

static void ledger_event(void *user, const struct event *event)
{
    switch (event->kind) {
    case EVENT_JOB_BEGIN:
        begin_note(user, event);
        break;
    case EVENT_JOB_STAGE:
    case EVENT_JOB_TASKS:
    case EVENT_JOB_BYTES:
        part_note(user, event);
        break;
    case EVENT_JOB_END:
    case EVENT_JOB_CANCEL:
        note_add(user, &(struct note){.kind = event->kind, .job = event->job_end.job});
        break;
    case EVENT_OUTPUT_LOST:
        if (!is_frameworks(event->output_lost.job))
            note_add(user, &(struct note){.kind = event->kind,
                                          .job = event->output_lost.job,
                                          .stage = event->output_lost.stage,
                                          .task = event->output_lost.task});
        break;
    default:
        break;
    }
}

static struct arriving *arriving_find(const struct ledger *ledger, uint64_t job)
{
    struct arriving *arriving = NULL;
    HASH_FIND(hh, ledger->arriving, &job, sizeof(job), arriving);
    return arriving;
}

static void arriving_drop(struct ledger *ledger, struct arriving *arriving)
{
    HASH_DEL(ledger->arriving, arriving);
    free(arriving);
}

/* Its first part was taken: the job is there. NULL: it is not, or memory is short. */
static struct arriving *arriving_make(struct ledger *ledger, uint64_t job)
{
    struct job_view view;
    if (engine_job(ledger->engine, job, &view) < 0)
        return NULL;
    struct arriving *arriving = calloc(1, sizeof(*arriving));
    ledger->failed |= !arriving;
    if (!arriving)
        return NULL;
    arriving->job = job;
    HASH_ADD(hh, ledger->arriving, job, sizeof(arriving->job), arriving);
    return arriving;
}

static void part_put(struct ledger *ledger, struct arriving *arriving, const char *record,
                     size_t length)
{
    const struct row_value row[PARTS_COLUMNS] = {
        ROW_NUMBER(arriving->job), ROW_NUMBER(arriving->parts++), ROW_BYTES(record, length)};
    store_put(ledger->store, STORE_PARTS, row);
}

static void pending_put(struct ledger *ledger)
{
    struct pending *pending = &ledger->pending;
    struct arriving *arriving = pending->job ? arriving_find(ledger, pending->job) : NULL;
    if (arriving)
        part_put(ledger, arriving, pending->record, pending->length);
    pending->job = 0;
}

static void pending_append(struct ledger *ledger, const char *text, size_t length)
{
    struct pending *pending = &ledger->pending;
    if (pending->length + length > pending->size) {
        size_t size = 2 * (pending->length + length);
        char *record = realloc(pending->record, size);
        ledger->failed |= !record;
        if (!record)
            return;
        pending->record = record;
        pending->size = size;
    }
    memcpy(pending->record + pending->length, text, length);
    pending->length += length;
}

static bool follows(const struct pending *pending, uint64_t job, const struct piece *piece)
{
    const struct piece *before = &pending->piece;
    return pending->job == job && piece->stage == before->stage &&
           piece->parent == before->parent && piece->matrix == before->matrix &&
           piece->first == before->first + before->n;
}

/* WHY no row for each piece: a row of some kilobytes occupies a page more than it fills. */
static void bytes_put(struct ledger *ledger, const struct note *note)
{
    struct pending *pending = &ledger->pending;
    const char *values = strrchr(note->record, '=') + 1;
    if (!note->piece.n)
        return;
    if (follows(pending, note->job, &note->piece) && pending->length < ROW_FULL) {
        pending_append(ledger, ",", 1);
        pending_append(ledger, values, strlen(values));
        pending->piece.n += note->piece.n;
        return;
    }
    pending_put(ledger);
    pending->job = note->job;
    pending->piece = note->piece;
    pending->length = 0;
    pending_append(ledger, note->record, (size_t)note->length);
}

static bool was_rejected(const struct note *note, const struct decisions *decisions)
{
    for (size_t i = 0; i < decisions->n; i++)
        if (decisions->at[i].kind == DECISION_REJECT &&
            decisions->at[i].reject.request == note->request)
            return true;
    return false;
}

static void part_judge(struct ledger *ledger, const struct note *note,
                       const struct decisions *decisions)
{
    struct arriving *arriving = arriving_find(ledger, note->job);
    if (was_rejected(note, decisions))
        return;
    if (!arriving && note->kind == EVENT_JOB_BEGIN)
        arriving = arriving_make(ledger, note->job);
    if (arriving && note->kind == EVENT_JOB_BYTES) {
        bytes_put(ledger, note);
        return;
    }
    pending_put(ledger);
    if (arriving)
        part_put(ledger, arriving, note->record, (size_t)note->length);
}

/* Jobs cancelled before they were complete; the others have an end (ledger_job_over). */
static void cancel_judge(struct ledger *ledger, uint64_t job)
{
    struct arriving *arriving = arriving_find(ledger, job);
    const struct row_value number = ROW_NUMBER(job);
    struct job_view view;
    if (!arriving || engine_job(ledger->engine, job, &view) == 0)
        return;
    store_put(ledger->store, STORE_GARBAGE, &number);
    arriving_drop(ledger, arriving);
}

static int state_read(void *context, const char *line, size_t length)
{
    struct ledger *ledger = context;
    int n = record_times_shift(line, length, ledger->offset_ns, INT64_MAX, ledger->record);
    ledger->length = n < 0 ? 0 : (size_t)n;
    return n < 0 ? n : 0;
}

static int job_put(struct ledger *ledger, uint64_t number)
{
    struct arriving *arriving = arriving_find(ledger, number);
    struct job_view job;
    if (!arriving || engine_job(ledger->engine, number, &job) < 0 || job.state != JOB_ACTIVE)
        return 0;
    const struct row_value row[JOBS_COLUMNS] = {ROW_NUMBER(number), row_text(job.name),
                                                ROW_NUMBER(job.submitted_ns + ledger->offset_ns)};
    int r = engine_dump_job(ledger->engine, number, ledger->scratch, state_read, ledger);
    if (r < 0)
        return r;
    pending_put(ledger);
    store_put(ledger->store, STORE_JOBS, row);
    part_put(ledger, arriving, ledger->record, ledger->length);
    arriving_drop(ledger, arriving);
    return 0;
}

static void task_put(struct ledger *ledger, const struct note *note, bool done, uint32_t failures)
{
    const int64_t offset_ns = ledger->offset_ns;
    struct host_view host = {0};
    if (done)
        engine_host(ledger->engine, note->host, &host);
    const struct row_value row[TASKS_COLUMNS] = {
        ROW_NUMBER(note->job),
        ROW_NUMBER(note->stage),
        ROW_NUMBER(note->task),
        ROW_NUMBER(done ? note->attempt : 0),
        ROW_NUMBER(done ? note->host : ENGINE_NONE),
        ROW_NUMBER(host.generation),
        ROW_NUMBER(failures),
        ROW_NUMBER(done ? note->ready_ns + offset_ns : 0),
        ROW_NUMBER(done ? note->started_ns + offset_ns : 0),
        ROW_NUMBER(done ? note->ended_ns + offset_ns : 0),
    };
    store_put(ledger->store, STORE_TASKS, row);
}

/* The engine's verdict on it. A job that ended with this step took its tasks along: then the report
 * counts. */
static void task_judge(struct ledger *ledger, const struct note *note)
{
    struct task_view task;
    bool done = note->kind == EVENT_ATTEMPT_DONE, known;
    known = engine_task(ledger->engine, note->job, note->stage, note->task, &task) == 0;
    if (!known && note->kind != EVENT_OUTPUT_LOST)
        task_put(ledger, note, done, note->failures + !done);
    else if (known && done && task.state == TASK_DONE && task.attempt == note->attempt)
        task_put(ledger, note, true, task.failures);
    else if (known && !done && task.state != TASK_DONE)
        task_put(ledger, note, false, task.failures);
}

static void sizes_put(struct ledger *ledger)
{
    struct sizes_view sizes;
    struct engine_status status;
    while (engine_sizes_after(ledger->engine, ledger->sizes, &sizes) == 0) {
        engine_status(ledger->engine, &status);
        const struct row_value row[SIZES_COLUMNS] = {ROW_NUMBER(sizes.history),
                                                     ROW_NUMBER(sizes.mean_bytes),
                                                     ROW_NUMBER(status.now_ns + ledger->offset_ns)};
        store_put(ledger->store, STORE_SIZES, row);
        ledger->sizes = sizes.place;
    }
}

static int note_judge(struct ledger *ledger, const struct note *note,
                      const struct decisions *decisions)
{
    if (note->record)
        part_judge(ledger, note, decisions);
    else if (note->kind == EVENT_JOB_END)
        return job_put(ledger, note->job);
    else if (note->kind == EVENT_JOB_CANCEL)
        cancel_judge(ledger, note->job);
    else
        task_judge(ledger, note);
    return 0;
}

static void ledger_stepped(void *user, const struct step *step)
{
    struct ledger *ledger = user;
    for (size_t i = 0; i < ledger->n; i++) {
        if (!ledger->failed && note_judge(ledger, &ledger->notes[i], step->decisions) < 0)
            ledger->failed = true;
        free(ledger->notes[i].record);
    }
    ledger->n = 0;
    sizes_put(ledger);
}

static void ledger_job_over(void *user, const struct job_fact *fact)
{
    struct ledger *ledger = user;
    const struct job_ending *ending = &fact->ending;
    const struct row_value number = ROW_NUMBER(ending->job);
    int r = engine_dump_job(ledger->engine, ending->job, ledger->scratch, state_read, ledger);
    ledger->failed |= r < 0;
    if (r < 0 || !fact->job.job)
        return;
    const struct row_value row[FINISHED_COLUMNS] = {
        ROW_NUMBER(fact->job.finished_ns + ledger->offset_ns),
        number,
        row_text(fact->job.name),
        row_text(job_state_name(ending->state)),
        ROW_BYTES(ledger->record, ledger->length),
        row_text(ending->reason),
        row_text(ending->host),
        ROW_NUMBER(ending->attempt),
        ROW_NUMBER(ending->stage),
        ROW_NUMBER(ending->task),
    };
    store_put(ledger->store, STORE_FINISHED, row);
    if (fact->split.job)
        split_rows_put(ledger->store, &fact->split, ledger->offset_ns);
    if (is_frameworks(ending->job))
        return;
    job_setting_drop(ledger->store, ending->job);
    store_delete(ledger->store, STORE_JOBS, &number, 1);
    store_put(ledger->store, STORE_GARBAGE, &number);
}

const struct listener ledger_listener = {.attempt_over = ledger_attempt_over,
                                         .event = ledger_event,
                                         .stepped = ledger_stepped,
                                         .job_over = ledger_job_over};

bool ledger_failed(const struct ledger *ledger)
{
    return ledger->failed;
}

void ledger_host_moved(struct ledger *ledger, uint32_t host)
{
    if (ledger->n_moved && ledger->moved[ledger->n_moved - 1] == host)
        return;
    if (!array_grow(ledger->moved, ledger->n_moved, ledger->moved_size, 64)) {
        ledger->failed = true;
        return;
    }
    ledger->moved[ledger->n_moved++] = host;
}

static void host_put(struct ledger *ledger, const struct agents *agents, uint32_t host)
{
    const struct row_value number = ROW_NUMBER(host);
    struct agent_kept kept;
    if (agents_kept(agents, host, &kept) < 0) {
        store_delete(ledger->store, STORE_HOSTS, &number, 1);
        return;
    }
    const struct row_value row[HOSTS_COLUMNS] = {
        number,
        row_text(kept.name),
        row_text(kept.rack),
        row_text(kept.labels),
        ROW_NUMBER(kept.boot),
        ROW_BYTES(kept.units, kept.n_units * ENGINE_RESOURCES * sizeof(kept.units[0])),
        ROW_BYTES(kept.address, sizeof(kept.address)),
        ROW_NUMBER(kept.uplink_bps),
        ROW_NUMBER(kept.downlink_bps),
        ROW_NUMBER(kept.lost),
        ROW_NUMBER(kept.used),
        ROW_NUMBER(kept.after),
        ROW_NUMBER(kept.until),
    };
    store_put(ledger->store, STORE_HOSTS, row);
}

void ledger_rest(struct ledger *ledger)
{
    division_setting_put(ledger->store, ledger->engine, ledger->offset_ns);
}

/* WHY once a second: starts make no rows, and each of them moves it. */
static void put_division(struct ledger *ledger)
{
    uint64_t changes = engine_division(ledger->engine).changes;
    struct timespec now;
    if (changes == ledger->division)
        return;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (now.tv_sec == ledger->put_s)
        return;
    ledger->put_s = now.tv_sec;
    ledger->division = changes;
    ledger_rest(ledger);
}

int ledger_commit(struct ledger *ledger, const struct agents *agents, bool awaited,
                  uint64_t *ret_ticket)
{
    for (size_t i = 0; i < ledger->n_moved; i++)
        host_put(ledger, agents, ledger->moved[i]);
    ledger->n_moved = 0;
    put_division(ledger);
    return ledger->failed ? -ENOMEM : store_commit(ledger->store, awaited, ret_ticket);
}
