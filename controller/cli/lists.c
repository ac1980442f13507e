#include "controller/cli/lists.h"

#include "controller/cli/table.h"
#include "lib/grow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void job_fields_write(const duopoly_JobRow *row, struct writer *writer)
{
    static const char *const headings[CELLS_MAX] = {
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
    const struct cell *cells = list_of_jobs.cells;
    char words[CELL_WORDS];
    for (size_t i = 0; cells[i].key; i++)
        writer_field(writer, cells[i].key, headings[i], cell_value(&cells[i], row, words));
}

/* Which tasks one pass over a job had, in its order: that of stages and their tasks. */
struct pass {
    uint64_t *tasks;
    size_t n, size;
};

/* Passes over the tasks of an active job, by state, in the order in which people want to see them.
 * If the job moves on meanwhile, a task may pass from one part to the next: it is listed in the
 * first; then what was in none is looked for once more among those that run. */
static const duopoly_TaskPart parts[] = {duopoly_TaskPart_TASKS_LIVE,
                                         duopoly_TaskPart_TASKS_WAITING,
                                         duopoly_TaskPart_TASKS_LIVE, duopoly_TaskPart_TASKS_DONE};
enum { PASSES = sizeof(parts) / sizeof(parts[0]), ONCE_MORE = 2 };

/* The rows of a job's tasks, written until there are `most`; then counted, if that is `counts`. */
struct tasks {
    struct table table;
    uint64_t most, written, counted, done; /* done: of both, rows of tasks that were done */
    struct list_seen seen;
    bool counts, enough; /* enough: the selection wants no more */
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
    if (tasks->written == tasks->most) {
        tasks->counted++;
        return !tasks->counts;
    }
    tasks->written++;
    r = table_row(&tasks->table, row, err);
    tasks->enough = r > 0;
    return r ? r : !tasks->counts && tasks->written == tasks->most;
}

static void tasks_pause(void *user)
{
    table_settle(&((struct tasks *)user)->table);
}

static int tasks_read(struct client *client, duopoly_List request, struct tasks *tasks,
                      struct err *err)
{
    return list_read(client, &list_of_tasks, request, task_take, tasks_pause, tasks, &tasks->seen,
                     err);
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
    for (int p = 0; p < PASSES && r == 0 && !tasks->enough && tasks->written < tasks->most; p++) {
        if (p == ONCE_MORE && !tasks->seen.changed)
            continue;
        tasks->pass = p;
        request.part = parts[p];
        r = tasks_read(client, request, tasks, err);
    }
    for (int p = 0; p < PASSES; p++)
        free(passes[p].tasks);
    return r;
}

int job_tasks_write(struct client *client, const duopoly_JobRow *job, uint64_t most,
                    const struct selection *selection, struct writer *writer, struct err *err)
{
    bool ended = strcmp(job->state, "active") != 0 && strcmp(job->state, "arriving") != 0;
    struct tasks tasks = {.most = most, .counts = ended};
    duopoly_List request = {.job = job->job, .finished = true, .part = duopoly_TaskPart_TASKS_ALL};
    if (selection)
        strcpy(request.filter, selection->text);
    table_begin(&tasks.table, list_of_tasks.key, list_of_tasks.cells, selection, writer);
    int r = table_end(&tasks.table, ended ? tasks_read(client, request, &tasks, err)
                                          : passes_read(client, request, &tasks, err));
    if (r < 0)
        return r;
    writer_field(writer, "changed", NULL, value_bool(tasks.seen.changed));
    if (!selection || !selection->given)
        missing_write(job, &tasks, ended, writer);
    return 0;
}
