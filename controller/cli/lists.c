#include "controller/cli/lists.h"

#include "controller/cli/stance.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct list {
    duopoly_ListOf of;
    const char *key;
    const struct column *columns;
    /* Writes a page's rows and says how many. */
    uint64_t (*rows)(const duopoly_Page *page, struct writer *writer);
};

/* Shown instead of a time or size that a row has not got. */
static struct value duration_or_none(int64_t ns)
{
    return ns < 0 ? value_absent() : value_duration(ns);
}

static struct value level_or_none(int32_t level)
{
    return level < 0 ? value_absent() : value_signed(level);
}

static struct value text_or_none(const char *text)
{
    return *text ? value_text(text) : value_absent();
}

static const struct column job_columns[] = {
    {"job", "JOB"},
    {"name", "NAME"},
    {"user", "USER"},
    {"state", "STATE"},
    {"place", "PLACE"},
    {"task_count", "TASKS"},
    {"ready", "READY"},
    {"running", "RUNNING"},
    {"done", "DONE"},
    {"held_stages", "HELD"},
    {"age_ns", "LASTED"},
    {"shuffle_bytes", "SHUFFLE"},
    {"left_ns", "WORK LEFT"},
    {"left_bytes", "BYTES LEFT"},
    {"slot_wait_ns", NULL},
    {"measured_tasks", NULL},
    {"receive_ns", NULL},
    {"compute_ns", NULL},
    {"received_bytes", NULL},
    {"text", "NOTE"},
    {"failed_host", NULL},
    {"failed_attempt", NULL},
    {"failed_stage", NULL},
    {"failed_task", NULL},
    {NULL, NULL},
};

static void job_row(const duopoly_JobRow *row, struct value *ret_values)
{
    const struct value none = value_absent();
    const struct value values[] = {
        value_number(row->job),
        value_text(row->name),
        value_number(row->user),
        value_text(row->state),
        row->place ? value_number(row->place) : value_absent(),
        value_number(row->tasks),
        value_number(row->ready),
        value_number(row->running),
        value_number(row->done),
        value_number(row->held),
        duration_or_none(row->age_ns),
        value_bytes(row->shuffle_bytes),
        duration_or_none(row->left_ns),
        row->left_bytes < 0 ? none : value_bytes((uint64_t)row->left_bytes),
        duration_or_none(row->slot_wait_ns),
        value_number(row->measured),
        row->measured ? value_duration(row->receive_ns) : none,
        row->measured ? value_duration(row->compute_ns) : none,
        row->measured ? value_bytes(row->received_bytes) : none,
        text_or_none(*row->reason ? row->reason : row->text),
        text_or_none(row->failed_host),
        row->failed_attempt ? value_number(row->failed_attempt) : none,
        row->failed_attempt ? value_number(row->failed_stage) : none,
        row->failed_attempt ? value_number(row->failed_task) : none,
    };
    memcpy(ret_values, values, sizeof(values));
}
#define JOB_COLUMNS (sizeof(job_columns) / sizeof(job_columns[0]) - 1)

void job_table_begin(struct writer *writer)
{
    writer_table(writer, "jobs", job_columns);
}

void job_cells_write(const duopoly_JobRow *row, struct writer *writer)
{
    struct value values[JOB_COLUMNS];
    job_row(row, values);
    for (size_t column = 0; column < JOB_COLUMNS; column++)
        writer_cell(writer, values[column]);
}

void job_fields_write(const duopoly_JobRow *row, struct writer *writer)
{
    static const char *const headings[JOB_COLUMNS] = {
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
        "note",
    };
    struct value values[JOB_COLUMNS];
    job_row(row, values);
    for (size_t column = 0; column < JOB_COLUMNS; column++)
        writer_field(writer, job_columns[column].key, headings[column], values[column]);
}

static const struct column task_columns[] = {
    {"job", "JOB"},
    {"stage", "STAGE"},
    {"task", "TASK"},
    {"state", "STATE"},
    {"host", "HOST"},
    {"bytes", "BYTES"},
    {"received_bytes", "RECEIVED"},
    {"level", "LEVEL"},
    {"coflow_level", "COFLOW"},
    {"macroflow_level", "MACROFLOW"},
    {"age_ns", "SINCE"},
    {"wait_ns", "WAITED"},
    {"receive_ns", "TRANSFER"},
    {"compute_ns", "COMPUTE"},
    {"attempt", "ATTEMPT"},
    {"failures", "FAILURES"},
    {"text", "NOTE"},
    {NULL, NULL},
};

static uint64_t task_rows(const duopoly_Page *page, struct writer *writer)
{
    for (pb_size_t i = 0; i < page->tasks_count; i++) {
        const duopoly_TaskRow *row = &page->tasks[i];
        writer_cell(writer, value_number(row->job));
        writer_cell(writer, value_number(row->stage));
        writer_cell(writer, value_number(row->task));
        writer_cell(writer, value_text(row->state));
        writer_cell(writer, text_or_none(row->host));
        writer_cell(writer, row->unmeasured ? value_absent() : value_bytes(row->bytes));
        writer_cell(writer, row->unmeasured ? value_absent() : value_bytes(row->received_bytes));
        writer_cell(writer, level_or_none(row->level));
        writer_cell(writer, level_or_none(row->coflow_level));
        writer_cell(writer, level_or_none(row->macroflow_level));
        writer_cell(writer, duration_or_none(row->age_ns));
        writer_cell(writer, duration_or_none(row->wait_ns));
        writer_cell(writer, duration_or_none(row->receive_ns));
        writer_cell(writer, duration_or_none(row->compute_ns));
        writer_cell(writer, row->attempt ? value_number(row->attempt) : value_absent());
        writer_cell(writer, row->failures ? value_number(row->failures) : value_absent());
        writer_cell(writer, text_or_none(row->text));
    }
    return page->tasks_count;
}

static const struct column host_columns[] = {
    {"name", "HOST"},
    {"state", "STATE"},
    {"role", "ROLE"},
    {"rack", "RACK"},
    {"stance", "STANCE"},
    {"slots_free", "FREE"},
    {"slots", "SLOTS"},
    {"running", "RUNNING"},
    {"receiving", "RECEIVING"},
    {"uplink_permille", "UPLINK"},
    {"downlink_permille", "DOWNLINK"},
    {"silent_ns", "LAST HEARD"},
    {"lost_ns", NULL},
    {"boot", NULL},
    {"readers", NULL},
    {"sources", NULL},
    {"failed_in_a_row", NULL},
    {"refused_words", NULL},
    {"queues", NULL},
    {"marks", "MARKS"},
    {"text", "NOTE"},
    {NULL, NULL},
};

/* A switch runs nothing; a row of a host that is gone is out of date. */
static struct value of_host(const duopoly_HostRow *row, struct value value)
{
    return row->role == duopoly_Role_ROLE_SWITCH ? value_absent() : value;
}

static struct value now_or_none(const duopoly_HostRow *row, struct value value)
{
    return row->gone ? value_absent() : of_host(row, value);
}

static uint64_t host_rows(const duopoly_Page *page, struct writer *writer)
{
    for (pb_size_t i = 0; i < page->hosts_count; i++) {
        const duopoly_HostRow *row = &page->hosts[i];
        writer_cell(writer, value_text(row->name));
        writer_cell(writer, value_text(row->state));
        writer_cell(writer, value_text(row->role == duopoly_Role_ROLE_SWITCH ? "switch" : "host"));
        writer_cell(writer, text_or_none(row->rack));
        writer_cell(writer, text_or_none(stance_word(row->stance)));
        writer_cell(writer, now_or_none(row, value_signed(row->free.slots)));
        writer_cell(writer, of_host(row, value_signed(row->total.slots)));
        writer_cell(writer, of_host(row, value_number(row->running)));
        writer_cell(writer, now_or_none(row, value_number(row->receiving)));
        writer_cell(writer, now_or_none(row, value_permille(row->uplink_permille)));
        writer_cell(writer, now_or_none(row, value_permille(row->downlink_permille)));
        writer_cell(writer, duration_or_none(row->silent_ns));
        writer_cell(writer, row->lost_ns ? value_duration(row->lost_ns) : value_absent());
        writer_cell(writer, value_number(row->boot));
        writer_cell(writer, value_number(row->readers));
        writer_cell(writer, value_number(row->sources));
        writer_cell(writer, value_number(row->failed_in_a_row));
        writer_cell(writer, value_number(row->refused_words));
        writer_cell(writer, text_or_none(row->queues));
        writer_cell(writer, text_or_none(row->marks));
        writer_cell(writer, text_or_none(row->text));
    }
    return page->hosts_count;
}

static const struct column counter_columns[] = {
    {"source", "SOURCE"}, {"name", "NAME"}, {"value", "VALUE"}, {NULL, NULL}};

static uint64_t counter_rows(const duopoly_Page *page, struct writer *writer)
{
    for (pb_size_t i = 0; i < page->counters_count; i++) {
        writer_cell(writer, value_text(page->counters[i].source));
        writer_cell(writer, value_text(page->counters[i].name));
        writer_cell(writer, value_number(page->counters[i].value));
    }
    return page->counters_count;
}

static const struct column key_columns[] = {
    {"name", "NAME"},   {"serial", "SERIAL"}, {"role", "ROLE"},         {"state", "STATE"},
    {"since", "SINCE"}, {"until", "UNTIL"},   {"public_key", "PUBLIC"}, {NULL, NULL}};

static void time_cell(struct writer *writer, int64_t seconds)
{
    char words[32] = "";
    struct tm parts;
    time_t at = seconds;
    if (seconds && gmtime_r(&at, &parts))
        strftime(words, sizeof(words), "%Y-%m-%dT%H:%M:%SZ", &parts);
    writer_cell(writer, text_or_none(words));
}

static uint64_t key_rows(const duopoly_Page *page, struct writer *writer)
{
    for (pb_size_t i = 0; i < page->keys_count; i++) {
        const duopoly_KeyRow *row = &page->keys[i];
        writer_cell(writer, value_text(row->name));
        writer_cell(writer, value_number(row->serial));
        writer_cell(writer, value_text(row->role));
        writer_cell(writer, value_text(row->state));
        time_cell(writer, row->since_s);
        time_cell(writer, row->until_s);
        writer_cell(writer, value_text(row->public_key));
    }
    return page->keys_count;
}

const struct list list_of_keys = {duopoly_ListOf_LIST_KEYS, "keys", key_columns, key_rows};
const struct list list_of_tasks = {duopoly_ListOf_LIST_TASKS, "tasks", task_columns, task_rows};
const struct list list_of_hosts = {duopoly_ListOf_LIST_HOSTS, "hosts", host_columns, host_rows};
const struct list list_of_counters = {duopoly_ListOf_LIST_COUNTERS, "counters", counter_columns,
                                      counter_rows};

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

/* Pages of one list, written until there are `most` rows; then counted, if that is `counted`. */
struct pages {
    const struct list *list;
    duopoly_List request;
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
    if (pass->n == pass->size) {
        size_t size = pass->size ? 2 * pass->size : 64;
        uint64_t *tasks = reallocarray(pass->tasks, size, sizeof(*tasks));
        if (!tasks)
            return -ENOMEM;
        pass->tasks = tasks;
        pass->size = size;
    }
    pass->tasks[pass->n++] = task;
    return 0;
}

/* Keeps the rows that no pass before had. */
static int new_ones_keep(const struct pages *pages, duopoly_Page *page)
{
    pb_size_t kept = 0;
    for (pb_size_t i = 0; i < page->tasks_count; i++) {
        uint64_t task = (uint64_t)page->tasks[i].stage << 32 | page->tasks[i].task;
        bool had = false;
        for (int p = 0; p < pages->pass; p++)
            had |= pass_has(&pages->passes[p], task);
        if (had)
            continue;
        if (pass_add(&pages->passes[pages->pass], task) < 0)
            return -ENOMEM;
        page->tasks[kept++] = page->tasks[i];
    }
    page->tasks_count = kept;
    return 0;
}

static void page_take(struct pages *pages, const duopoly_Page *page, struct writer *writer)
{
    uint64_t room = pages->most - pages->written;
    duopoly_Page shown = *page;
    if (shown.tasks_count > room)
        shown.tasks_count = (pb_size_t)room;
    pages->counted += page->tasks_count - shown.tasks_count;
    pages->written += pages->list->rows(&shown, writer);
    for (pb_size_t i = 0; i < page->tasks_count; i++)
        pages->done += strcmp(page->tasks[i].state, "done") == 0;
    pages->changed |= page->changed;
}

static int pages_read(struct client *client, struct pages *pages, struct writer *writer,
                      struct err *err)
{
    duopoly_Page page;
    pages->request.cursor = 0;
    do {
        const duopoly_Envelope *answer;
        client_request(client, duopoly_Envelope_list_tag)->body.list = pages->request;
        int r = client_call(client, duopoly_Envelope_page_tag, &answer, err);
        if (r < 0)
            return r;
        page = answer->body.page;
        if (pages->passes && new_ones_keep(pages, &page) < 0)
            return err_sys(err, ENOMEM, "the list");
        page_take(pages, &page, writer);
        pages->request.cursor = answer->body.page.cursor;
        pages->request.version = answer->body.page.version;
    } while (pages->request.cursor && (pages->counts || pages->written < pages->most));
    return 0;
}

int list_write(struct client *client, const struct list *list, uint64_t job, bool finished,
               struct writer *writer, struct err *err)
{
    struct pages pages = {.list = list,
                          .request = {.of = list->of, .job = job, .finished = finished},
                          .most = UINT64_MAX};
    writer_table(writer, list->key, list->columns);
    int r = pages_read(client, &pages, writer, err);
    if (r < 0)
        return r;
    writer_table_end(writer);
    writer_field(writer, "changed", NULL, value_bool(pages.changed));
    return 0;
}

/* Tasks without a row: they were cut, or are not kept. */
static void missing_write(const duopoly_JobRow *job, const struct pages *pages, bool ended,
                          struct writer *writer)
{
    char text[160];
    uint64_t more = ended                         ? pages->counted
                    : job->tasks > pages->written ? job->tasks - pages->written
                                                  : 0;
    uint64_t lost =
        strcmp(job->state, "done") == 0 && job->tasks > pages->done ? job->tasks - pages->done : 0;
    snprintf(text, sizeof(text),
             "%" PRIu64 " more %s not shown: duopolyctl tasks %" PRIu64 " -a lists all", more,
             more == 1 ? "is" : "are", job->job);
    if (more)
        writer_field(writer, "more", "more", value_text(text));
    snprintf(text, sizeof(text), "how %" PRIu64 " of its tasks ended is not kept any more", lost);
    if (lost)
        writer_field(writer, "not_kept", "not kept", value_text(text));
}

static int passes_read(struct client *client, struct pages *pages, struct writer *writer,
                       struct err *err)
{
    struct pass passes[PASSES] = {0};
    int r = 0;
    pages->passes = passes;
    for (int p = 0; p < PASSES && r == 0 && pages->written < pages->most; p++) {
        pages->pass = p;
        pages->request.part = parts[p];
        r = pages_read(client, pages, writer, err);
    }
    for (int p = 0; p < PASSES; p++)
        free(passes[p].tasks);
    return r;
}

int job_tasks_write(struct client *client, const duopoly_JobRow *job, uint64_t most,
                    struct writer *writer, struct err *err)
{
    bool ended = strcmp(job->state, "active") != 0 && strcmp(job->state, "arriving") != 0;
    struct pages pages = {.list = &list_of_tasks,
                          .request = {.of = duopoly_ListOf_LIST_TASKS,
                                      .job = job->job,
                                      .finished = true,
                                      .part = duopoly_TaskPart_TASKS_ALL},
                          .most = most,
                          .counts = ended};
    writer_table(writer, list_of_tasks.key, list_of_tasks.columns);
    int r =
        ended ? pages_read(client, &pages, writer, err) : passes_read(client, &pages, writer, err);
    if (r < 0)
        return r;
    writer_table_end(writer);
    writer_field(writer, "changed", NULL, value_bool(pages.changed));
    missing_write(job, &pages, ended, writer);
    return 0;
}
