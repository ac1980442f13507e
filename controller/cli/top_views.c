#include "controller/cli/top_views.h"

#include "lib/join.h"
#include "lib/plural.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NOTE_LEAST = 12, WAITS_LEAST = 30 /* most of what is said has room */ };

/* ---- hosts ---- */

static bool host_alarms(const void *opaque)
{
    static const char *const states[] = {"silent", "lost", "suspect", "full"};
    const duopoly_HostRow *row = opaque;
    bool alarms = false;
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        alarms |= strcmp(row->state, states[i]) == 0;
    return alarms;
}

static const struct top_column host_columns[] = {
    {"name", NULL, 0},
    {"state", NULL, 0},
    {"rack", NULL, 5},
    {"slots_free", NULL, 0},
    {"slots", NULL, 1},
    {"running", NULL, 3},
    {"receiving", NULL, 4},
    {"uplink_permille", NULL, 0},
    {"downlink_permille", NULL, 0},
    {"disk_permille", NULL, 6},
    {"text", NULL, 2},
    {NULL, NULL, 0},
};

/* ---- links ---- */

static bool link_alarms(const void *row)
{
    return ((const duopoly_LinkRow *)row)->gone;
}

static const struct top_column link_columns[] = {
    {"host", NULL, 0},
    {"port", NULL, 0},
    {"rate_bps", NULL, 3},
    {"sent_permille", NULL, 0},
    {"received_permille", NULL, 0},
    {"sent_peak_bps", NULL, 4},
    {"received_peak_bps", NULL, 5},
    {"dropped", NULL, 2},
    {"text", NULL, 1},
    {NULL, NULL, 0},
};

/* ---- jobs ---- */

/* It is held, or an attempt failed. */
static bool job_alarms(const void *opaque)
{
    const duopoly_JobRow *row = opaque;
    return *row->held_by || *row->reason;
}

/* Whose tasks could start. */
static void slots_say(const duopoly_JobRow *row, char words[CELL_WORDS])
{
    const uint32_t before = row->place ? row->place - 1 : 0;
    if (row->held)
        snprintf(words, CELL_WORDS, "a better place: %" PRIu32 " stage%s held", row->held,
                 plural(row->held));
    else if (before)
        snprintf(words, CELL_WORDS, "slots that fit, behind %" PRIu32 " job%s", before,
                 plural(before));
    else
        snprintf(words, CELL_WORDS, "slots that fit: it is first");
}

struct value top_job_waits(const void *opaque, char words[CELL_WORDS])
{
    const duopoly_JobRow *row = opaque;
    if (*row->held_by)
        snprintf(words, CELL_WORDS, "release: held by %s", row->held_by);
    else if (row->ready)
        slots_say(row, words);
    else if (row->running)
        snprintf(words, CELL_WORDS, "%" PRIu32 " running task%s", row->running,
                 plural(row->running));
    else
        snprintf(words, CELL_WORDS, "its framework");
    return value_text(words);
}

static const struct cell waits = {
    .key = "waits_for", .heading = "WAITS FOR", .kind = VALUE_TEXT, .value = top_job_waits};

static const struct top_column job_columns[] = {
    {"place", NULL, 4},      {"job", NULL, 0},     {"name", NULL, 0},        {"user", NULL, 7},
    {"task_count", NULL, 3}, {"ready", NULL, 1},   {"running", NULL, 1},     {"done", NULL, 2},
    {"age_ns", NULL, 5},     {"left_ns", NULL, 6}, {"waits_for", &waits, 0}, {NULL, NULL, 0},
};

const struct top_view top_views[TOP_VIEWS] = {
    [TOP_HOSTS] = {"hosts", &list_of_hosts, false, host_columns, NOTE_LEAST, host_alarms},
    [TOP_LINKS] = {"links", &list_of_links, false, link_columns, NOTE_LEAST, link_alarms},
    [TOP_JOBS] = {"jobs", &list_of_jobs, true, job_columns, WAITS_LEAST, job_alarms},
};

int top_view_find(const char *name, unsigned *ret_view, struct err *err)
{
    char names[64] = "";
    for (unsigned i = 0; i < TOP_VIEWS; i++) {
        if (strcmp(top_views[i].name, name) == 0) {
            *ret_view = i;
            return 0;
        }
        join_word(names, sizeof(names), ", ", top_views[i].name);
    }
    return err_set(err, EINVAL, "top shows no '%s'; it shows: %s", name, names);
}

uint8_t top_view_cells(const struct top_view *view, const struct cell *ret_cells[CELLS_MAX])
{
    uint8_t n = 0;
    for (const struct top_column *column = view->columns; column->key; column++, n++) {
        ret_cells[n] = column->own;
        if (!column->own && cell_find(view->list->cells, column->key, &ret_cells[n], NULL) < 0)
            assert(false);
    }
    return n;
}
