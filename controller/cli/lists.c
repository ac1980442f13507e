#include "controller/cli/lists.h"

#include "controller/cli/stance.h"
#include "controller/cli/table.h"
#include "lib/grow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

#define ROW duopoly_JobRow
static bool is_unmeasured_job(const void *row)
{
    return !((const ROW *)row)->measured;
}

static bool is_without_failure(const void *row)
{
    return !((const ROW *)row)->failed_attempt;
}

static struct value job_text(const void *opaque, char words[CELL_WORDS])
{
    const ROW *row = opaque;
    const char *text = *row->reason ? row->reason : row->text;
    if (*row->held_by) {
        snprintf(words, CELL_WORDS, "held by %s", row->held_by);
        return value_text(words);
    }
    return *text ? value_text(text) : value_absent();
}

static const struct cell job_cells[] = {
    CELL("job", "JOB", ID, job),
    CELL("name", "NAME", TEXT, name),
    CELL("user", "USER", ID, user),
    CELL("state", "STATE", TEXT, state),
    CELL("place", "PLACE", NUMBER, place, UNLESS_NOTHING),
    CELL("task_count", "TASKS", NUMBER, tasks),
    CELL("ready", "READY", NUMBER, ready),
    CELL("running", "RUNNING", NUMBER, running),
    CELL("done", "DONE", NUMBER, done),
    CELL("held_stages", "HELD", NUMBER, held),
    CELL("age_ns", "LASTED", DURATION, age_ns, UNLESS_NEGATIVE),
    CELL("shuffle_bytes", "SHUFFLE", BYTES, shuffle_bytes),
    CELL("left_ns", "WORK LEFT", DURATION, left_ns, UNLESS_NEGATIVE),
    CELL("left_bytes", "BYTES LEFT", BYTES, left_bytes, UNLESS_NEGATIVE),
    CELL("slot_wait_ns", NULL, DURATION, slot_wait_ns, UNLESS_NEGATIVE),
    CELL("measured_tasks", NULL, NUMBER, measured),
    CELL("receive_ns", NULL, DURATION, receive_ns, .lacks = is_unmeasured_job),
    CELL("compute_ns", NULL, DURATION, compute_ns, .lacks = is_unmeasured_job),
    CELL("received_bytes", NULL, BYTES, received_bytes, .lacks = is_unmeasured_job),
    CELL("evictions", NULL, NUMBER, evictions, UNLESS_NOTHING),
    CELL("evicted_ns", NULL, DURATION, evicted_ns, UNLESS_NOTHING),
    CELL_OF("text", "NOTE", job_text),
    CELL("held_by", NULL, TEXT, held_by, UNLESS_NOTHING),
    CELL("held_ns", NULL, DURATION, held_ns, UNLESS_NOTHING),
    CELL("priority", NULL, SIGNED, priority),
    CELL("failed_host", NULL, TEXT, failed_host, UNLESS_NOTHING),
    CELL("failed_attempt", NULL, ID, failed_attempt, UNLESS_NOTHING),
    CELL("failed_stage", NULL, ID, failed_stage, .lacks = is_without_failure),
    CELL("failed_task", NULL, ID, failed_task, .lacks = is_without_failure),
    {0},
};
#undef ROW

void job_fields_write(const duopoly_JobRow *row, struct writer *writer)
{
    static const char *const headings[sizeof(job_cells) / sizeof(job_cells[0])] = {
        "job",
        "name",
        "user",
        "state",
        "place in turn",
        "tasks",
        "ready tasks",
        "running",
        "done",
        "stages held",
        "lasted",
        "shuffle",
        "work left",
        "bytes left",
        "waits of tasks",
        "tasks measured",
        "their transfers",
        "their computing",
        "they received",
        "evictions",
        "lost with them",
        "note",
        "held by",
        "held for",
        "priority",
    };
    char words[CELL_WORDS];
    for (size_t i = 0; job_cells[i].key; i++)
        writer_field(writer, job_cells[i].key, headings[i], cell_value(&job_cells[i], row, words));
}

#define ROW duopoly_TaskRow
static bool is_unmeasured_task(const void *row)
{
    return ((const ROW *)row)->unmeasured;
}

static bool is_of_no_variant(const void *row)
{
    return !((const ROW *)row)->has_variant;
}

static const struct cell task_cells[] = {
    CELL("job", "JOB", ID, job),
    CELL("stage", "STAGE", ID, stage),
    CELL("task", "TASK", ID, task),
    CELL("state", "STATE", TEXT, state),
    CELL("host", "HOST", TEXT, host, UNLESS_NOTHING),
    CELL("bytes", "BYTES", BYTES, bytes, .lacks = is_unmeasured_task),
    CELL("received_bytes", "RECEIVED", BYTES, received_bytes, .lacks = is_unmeasured_task),
    CELL("level", "LEVEL", SIGNED, level, UNLESS_NEGATIVE),
    CELL("coflow_level", "COFLOW", SIGNED, coflow_level, UNLESS_NEGATIVE),
    CELL("macroflow_level", "MACROFLOW", SIGNED, macroflow_level, UNLESS_NEGATIVE),
    CELL("age_ns", "SINCE", DURATION, age_ns, UNLESS_NEGATIVE),
    CELL("wait_ns", "WAITED", DURATION, wait_ns, UNLESS_NEGATIVE),
    CELL("receive_ns", "TRANSFER", DURATION, receive_ns, UNLESS_NEGATIVE),
    CELL("compute_ns", "COMPUTE", DURATION, compute_ns, UNLESS_NEGATIVE),
    CELL("attempt", "ATTEMPT", ID, attempt, UNLESS_NOTHING),
    CELL("variant", "VARIANT", ID, variant, .lacks = is_of_no_variant),
    CELL("failures", "FAILURES", NUMBER, failures, UNLESS_NOTHING),
    CELL("evictions", "EVICTED", NUMBER, evictions, UNLESS_NOTHING),
    CELL("evicted_ns", NULL, DURATION, evicted_ns, UNLESS_NOTHING),
    CELL("text", "NOTE", TEXT, text, UNLESS_NOTHING),
    {0},
};
#undef ROW

#define ROW duopoly_HostRow
/* A switch runs nothing; a row of a host that is gone is out of date. */
static bool is_of_switch(const void *row)
{
    return ((const ROW *)row)->role == duopoly_Role_ROLE_SWITCH;
}

static bool is_not_now(const void *row)
{
    return ((const ROW *)row)->gone || is_of_switch(row);
}

static bool has_no_disk(const void *row)
{
    return !((const ROW *)row)->has_disk_permille || is_not_now(row);
}

static struct value host_role(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return value_text(is_of_switch(row) ? "switch" : "host");
}

static struct value host_stance(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return stance_value(((const ROW *)row)->stance);
}

static const struct cell host_cells[] = {
    CELL("name", "HOST", TEXT, name),
    CELL("state", "STATE", TEXT, state),
    CELL_OF("role", "ROLE", host_role),
    CELL("rack", "RACK", TEXT, rack, UNLESS_NOTHING),
    CELL_OF("stance", "STANCE", host_stance),
    CELL("slots_free", "FREE", SIGNED, free.slots, .lacks = is_not_now),
    CELL("slots", "SLOTS", SIGNED, total.slots, .lacks = is_of_switch),
    CELL("running", "RUNNING", NUMBER, running, .lacks = is_of_switch),
    CELL("receiving", "RECEIVING", NUMBER, receiving, .lacks = is_not_now),
    CELL("uplink_permille", "UPLINK", PERMILLE, uplink_permille, .lacks = is_not_now),
    CELL("downlink_permille", "DOWNLINK", PERMILLE, downlink_permille, .lacks = is_not_now),
    CELL("disk_permille", "DISK", PERMILLE, disk_permille, .lacks = has_no_disk),
    CELL("disk_readers", NULL, NUMBER, disk_readers, .lacks = has_no_disk),
    CELL("disk_read_bytes_s", NULL, NUMBER, disk_read_bytes_s, .lacks = has_no_disk),
    CELL("disk_hangs", NULL, BOOL, disk_hangs, .lacks = has_no_disk),
    CELL("silent_ns", "LAST HEARD", DURATION, silent_ns, UNLESS_NEGATIVE),
    CELL("lost_ns", NULL, DURATION, lost_ns, UNLESS_NOTHING),
    CELL("boot", NULL, ID, boot),
    CELL("readers", NULL, NUMBER, readers),
    CELL("sources", NULL, NUMBER, sources),
    CELL("failed_in_a_row", NULL, NUMBER, failed_in_a_row),
    CELL("refused_words", NULL, NUMBER, refused_words),
    CELL("queues", NULL, TEXT, queues, UNLESS_NOTHING),
    CELL("marks", "MARKS", TEXT, marks, UNLESS_NOTHING),
    CELL("text", "NOTE", TEXT, text, UNLESS_NOTHING),
    {0},
};
#undef ROW

#define ROW duopoly_CounterRow
static const struct cell counter_cells[] = {
    CELL("source", "SOURCE", TEXT, source),
    CELL("name", "NAME", TEXT, name),
    CELL("value", "VALUE", NUMBER, value),
    {0},
};
#undef ROW

#define ROW duopoly_KeyRow
static struct value time_of(int64_t seconds)
{
    return seconds > 0 ? value_time((uint64_t)seconds * SECOND_NS) : value_absent();
}

static struct value key_since(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return time_of(((const ROW *)row)->since_s);
}

static struct value key_until(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return time_of(((const ROW *)row)->until_s);
}

static const struct cell key_cells[] = {
    CELL("name", "NAME", TEXT, name),
    CELL("serial", "SERIAL", ID, serial),
    CELL("role", "ROLE", TEXT, role),
    CELL("state", "STATE", TEXT, state),
    CELL_OF("since", "SINCE", key_since),
    CELL_OF("until", "UNTIL", key_until),
    CELL("public_key", "PUBLIC", TEXT, public_key),
    {0},
};
#undef ROW

const struct list list_of_jobs = LIST_IN(LIST_JOBS, "jobs", job_cells, page, jobs);
const struct list list_of_keys = LIST_IN(LIST_KEYS, "keys", key_cells, page, keys);
const struct list list_of_tasks = LIST_IN(LIST_TASKS, "tasks", task_cells, page, tasks);
const struct list list_of_hosts = LIST_IN(LIST_HOSTS, "hosts", host_cells, page, hosts);
const struct list list_of_counters =
    LIST_IN(LIST_COUNTERS, "counters", counter_cells, page, counters);

int list_write(struct client *client, const struct list *list, uint64_t job, bool finished,
               struct writer *writer, struct err *err)
{
    duopoly_List request = {.job = job, .finished = finished};
    bool changed = false;
    writer_schema(writer, list->key, list->key);
    int r = list_table(client, list, request, writer, &changed, err);
    if (r == 0)
        writer_field(writer, "changed", NULL, value_bool(changed));
    return r;
}

/* Which tasks one pass over a job had, in its order: that of stages and their tasks. */
struct pass {
    uint64_t *tasks;
    size_t n, size;
};

/* Passes over the tasks of an active job, by state, in the order in which people want to see them.
 * If the job moves on meanwhile, a task may pass from one part to the next: it is listed in the
 * first; what was in none is looked for once more among those that run. */
static const duopoly_TaskPart parts[] = {duopoly_TaskPart_TASKS_LIVE,
                                         duopoly_TaskPart_TASKS_WAITING,
                                         duopoly_TaskPart_TASKS_LIVE, duopoly_TaskPart_TASKS_DONE};
enum { PASSES = sizeof(parts) / sizeof(parts[0]) };

/* The rows of a job's tasks, written until there are `most`; then counted, if that is `counts`. */
struct tasks {
    struct table table;
    uint64_t most, written, counted, done; /* done: of both, rows of tasks that were done */
    bool counts, changed;
    struct pass *passes; /* PASSES of them, of which this is number `pass`; NULL: a row is a row */
    int pass;
};

static bool pass_has(const struct pass *pass, uint64_t task)
{
    size_t from = 0, to = pass->n;
    while (from < to) {
        size_t half = from + (to - from) / 2;
        if (pass->tasks[half] < task)
            from = half + 1;
        else
            to = half;
    }
    return from < pass->n && pass->tasks[from] == task;
}

/* −ENOMEM. */
static int pass_add(struct pass *pass, uint64_t task)
{
    if (!array_grow(pass->tasks, pass->n, pass->size, 64))
        return -ENOMEM;
    pass->tasks[pass->n++] = task;
    return 0;
}

/* 1: a pass before had it; else it is remembered. −ENOMEM. */
static int pass_look(const struct tasks *tasks, const duopoly_TaskRow *row)
{
    uint64_t task = (uint64_t)row->stage << 32 | row->task;
    for (int p = 0; p < tasks->pass; p++)
        if (pass_has(&tasks->passes[p], task))
            return 1;
    return pass_add(&tasks->passes[tasks->pass], task);
}

static int task_take(void *user, const void *row, struct err *err)
{
    struct tasks *tasks = user;
    int r = tasks->passes ? pass_look(tasks, row) : 0;
    if (r)
        return r < 0 ? err_sys(err, ENOMEM, "the list") : 0;
    tasks->done += strcmp(((const duopoly_TaskRow *)row)->state, "done") == 0;
    if (tasks->written < tasks->most) {
        table_row(&tasks->table, row);
        tasks->written++;
    } else {
        tasks->counted++;
    }
    return !tasks->counts && tasks->written == tasks->most;
}

/* Tasks without a row: they were cut, or are not kept. */
static void missing_write(const duopoly_JobRow *job, const struct tasks *tasks, bool ended,
                          struct writer *writer)
{
    char text[160];
    uint64_t more = ended                         ? tasks->counted
                    : job->tasks > tasks->written ? job->tasks - tasks->written
                                                  : 0;
    uint64_t lost =
        strcmp(job->state, "done") == 0 && job->tasks > tasks->done ? job->tasks - tasks->done : 0;
    snprintf(text, sizeof(text),
             "%" PRIu64 " more %s not shown: duopolyctl tasks %" PRIu64 " -a lists all", more,
             more == 1 ? "is" : "are", job->job);
    if (more)
        writer_field(writer, "more", "more", value_text(text));
    snprintf(text, sizeof(text), "how %" PRIu64 " of its tasks ended is not kept any more", lost);
    if (lost)
        writer_field(writer, "not_kept", "not kept", value_text(text));
}

static int passes_read(struct client *client, duopoly_List request, struct tasks *tasks,
                       struct err *err)
{
    struct pass passes[PASSES] = {0};
    int r = 0;
    tasks->passes = passes;
    for (int p = 0; p < PASSES && r == 0 && tasks->written < tasks->most; p++) {
        tasks->pass = p;
        request.part = parts[p];
        r = list_read(client, &list_of_tasks, request, task_take, tasks, &tasks->changed, err);
    }
    for (int p = 0; p < PASSES; p++)
        free(passes[p].tasks);
    return r;
}

int job_tasks_write(struct client *client, const duopoly_JobRow *job, uint64_t most,
                    struct writer *writer, struct err *err)
{
    bool ended = strcmp(job->state, "active") != 0 && strcmp(job->state, "arriving") != 0;
    struct tasks tasks = {.most = most, .counts = ended};
    const duopoly_List request = {
        .job = job->job, .finished = true, .part = duopoly_TaskPart_TASKS_ALL};
    table_begin(&tasks.table, list_of_tasks.key, list_of_tasks.cells, writer);
    int r = ended
                ? list_read(client, &list_of_tasks, request, task_take, &tasks, &tasks.changed, err)
                : passes_read(client, request, &tasks, err);
    if (r < 0)
        return r;
    table_end(&tasks.table);
    writer_field(writer, "changed", NULL, value_bool(tasks.changed));
    missing_write(job, &tasks, ended, writer);
    return 0;
}
