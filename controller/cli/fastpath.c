#include "controller/cli/fastpath.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_ROWS (sizeof(((duopoly_Page *)0)->counters) / sizeof(duopoly_CounterRow))
#define MOST_ROWS (64 * PAGE_ROWS) /* more than any data plane has */
#define QUEUE     " queue "        /* between a port's name and the queue's number */
#define MS_NS     INT64_C(1000000)

struct rows {
    duopoly_CounterRow *row;
    size_t n;
};

static const struct column port_columns[] = {
    {"port", "PORT"},
    {"came_packets", "CAME"},
    {"went_packets", "WENT"},
    {"too_long_packets", "TOO LONG"},
    {NULL, NULL},
};

static const struct column switch_columns[] = {
    {"port", "PORT"},
    {"flooded_packets", "FLOODED"},
    {"copied_packets", "COPIES"},
    {"over_limit_packets", "OVER LIMIT"},
    {"filtered_packets", "FILTERED"},
    {"shut_packets", "SHUT OUT"},
    {"shuts", "TIMES SHUT"},
    {"shut_ns", "SHUT FOR"},
    {NULL, NULL},
};

static const struct column queue_columns[] = {
    {"port", "PORT"},         {"queue", "QUEUE"},         {"in_packets", "IN"},
    {"out_packets", "OUT"},   {"out_bytes", "BYTES OUT"}, {"dropped_packets", "DROPPED"},
    {"marked_packets", "CE"}, {"waiting", "WAITING"},     {NULL, NULL},
};

static const duopoly_CounterRow *row_find(const struct rows *rows, const char *source,
                                          const char *name)
{
    for (size_t i = 0; i < rows->n; i++)
        if (strcmp(rows->row[i].source, source) == 0 && strcmp(rows->row[i].name, name) == 0)
            return &rows->row[i];
    return NULL;
}

static bool ends_in(const char *name, const char *unit)
{
    size_t length = strlen(name), least = strlen(unit);
    return length > least && strcmp(name + length - least, unit) == 0;
}

static struct value ms_value(uint64_t ms)
{
    return value_duration((int64_t)(ms % (INT64_MAX / MS_NS)) * MS_NS);
}

static struct value value_of(const struct rows *rows, const char *source, const char *name)
{
    const duopoly_CounterRow *row = row_find(rows, source, name);
    return !row                      ? value_absent()
           : ends_in(name, "_bytes") ? value_bytes(row->value)
           : ends_in(name, "_ms")    ? ms_value(row->value)
                                     : value_number(row->value);
}

/* The counter that a column shows, which has the name of its key; but times are counted in ms. */
static struct value column_value(const struct rows *rows, const char *source, const char *key)
{
    char name[sizeof(rows->row->name)];
    wire_copy(name, sizeof(name), key);
    if (ends_in(key, "_ns"))
        name[strlen(name) - 2] = 'm';
    return value_of(rows, source, name);
}

/* A row's cells: the source's counters under each column's key. */
static void counters_write(const struct rows *rows, const char *source,
                           const struct column *counters, struct writer *writer)
{
    for (; counters->key; counters++)
        writer_cell(writer, column_value(rows, source, counters->key));
}

/* A row for each source that has the second column's counter. */
static void sources_write(const struct rows *rows, const char *key, const struct column *columns,
                          struct writer *writer)
{
    writer_table(writer, key, columns);
    for (size_t i = 0; i < rows->n; i++) {
        const duopoly_CounterRow *row = &rows->row[i];
        if (strcmp(row->name, columns[1].key) != 0)
            continue;
        writer_cell(writer, value_text(row->source));
        counters_write(rows, row->source, columns + 1, writer);
    }
    writer_table_end(writer);
}

static void queues_write(const struct rows *rows, struct writer *writer)
{
    writer_table(writer, "queues", queue_columns);
    for (size_t i = 0; i < rows->n; i++) {
        const duopoly_CounterRow *row = &rows->row[i];
        char port[sizeof(row->source)];
        const char *at = strstr(row->source, QUEUE);
        if (!at || strcmp(row->name, queue_columns[2].key) != 0)
            continue;
        wire_copy(port, sizeof(port), row->source);
        port[at - row->source] = '\0';
        writer_cell(writer, value_text(port));
        writer_cell(writer, value_id(strtoull(at + strlen(QUEUE), NULL, 10)));
        counters_write(rows, row->source, queue_columns + 2, writer);
    }
    writer_table_end(writer);
}

/* Drops of all queues, and cycles per packet. */
static void sums_write(const struct rows *rows, uint64_t busy_cycles, struct writer *writer)
{
    uint64_t came = 0, dropped = 0;
    for (size_t i = 0; i < rows->n; i++) {
        came += strcmp(rows->row[i].name, "came_packets") == 0 ? rows->row[i].value : 0;
        dropped += strcmp(rows->row[i].name, "dropped_packets") == 0 ? rows->row[i].value : 0;
    }
    writer_field(writer, "dropped_packets", "dropped by queues", value_number(dropped));
    writer_field(writer, "cycles_a_packet", "cycles a packet",
                 came ? value_number(busy_cycles / came) : value_absent());
}

static void rest_write(const struct rows *rows, struct writer *writer)
{
    static const struct {
        const char *source, *name, *key, *heading;
    } fields[] = {
        {"flows", "alive", "flows_alive", "flows"},
        {"flows", "made", "flows_made", "flows made"},
        {"flows", "ended", "flows_ended", "flows ended"},
        {"flows", "evictions", "flows_evicted", "flows evicted"},
        {"macs", "alive", "stations", "stations"},
        {"macs", "moved", "stations_moved", "stations moved"},
        {"macs", "full", "stations_refused", "stations without room"},
        {"marks", "bleached_packets", "bleached_packets", "bleached"},
        {"marks", "overtaken_packets", "overtaken_packets", "overtaken"},
        {"worker", "sleeps", "sleeps", "sleeps"},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (row_find(rows, fields[i].source, fields[i].name))
            writer_field(writer, fields[i].key, fields[i].heading,
                         value_of(rows, fields[i].source, fields[i].name));
}

static int page_add(struct rows *rows, const duopoly_Page *page, struct err *err)
{
    const size_t n = rows->n + page->counters_count;
    if (n > MOST_ROWS)
        return err_set(err, EPROTO, "more than %zu counters: no data plane has so many", MOST_ROWS);
    if (page->counters_count == 0)
        return 0;
    duopoly_CounterRow *row = realloc(rows->row, n * sizeof(*row));
    if (!row)
        return err_set(err, ENOMEM, "no memory for %zu counters", n);
    memcpy(row + rows->n, page->counters, page->counters_count * sizeof(*row));
    *rows = (struct rows){row, n};
    return 0;
}

static int rows_get(struct client *client, struct rows *rows, struct err *err)
{
    duopoly_List list = {.of = duopoly_ListOf_LIST_COUNTERS};
    do {
        const duopoly_Envelope *answer;
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        int r = client_call(client, duopoly_Envelope_page_tag, &answer, err);
        if (r == 0)
            r = page_add(rows, &answer->body.page, err);
        if (r < 0)
            return r;
        if (answer->body.page.cursor && answer->body.page.counters_count == 0)
            return err_set(err, EPROTO, "the data plane sends empty pages");
        list.cursor = answer->body.page.cursor;
    } while (list.cursor);
    return 0;
}

static bool ends_capture(const struct request *request)
{
    return request->n_words == 2 && strcmp(request->words[1], "end") == 0;
}

int fastpath_check(const struct request *request, struct err *err)
{
    uint64_t frames;
    if (request->n_words == 0 ||
        (strcmp(request->words[0], "capture") == 0 && ends_capture(request)))
        return 0;
    if (request->n_words != 3 || strcmp(request->words[0], "capture") != 0)
        return err_set(err, EINVAL, "a data plane is told: capture PORT FRAMES, or capture end");
    int r = number_parse(request->words[2], "a number of frames", &frames, err);
    return r == 0 && frames > UINT32_MAX
               ? err_set(err, EINVAL, "%s frames are too many", request->words[2])
               : r;
}

static int run_capture(struct client *client, const struct request *request, struct writer *writer,
                       struct err *err)
{
    const duopoly_Envelope *answer;
    uint64_t frames = 0;
    int r = 0;
    if (ends_capture(request)) {
        client_request(client, duopoly_Envelope_end_capture_tag);
    } else {
        duopoly_BeginCapture *begin =
            &client_request(client, duopoly_Envelope_begin_capture_tag)->body.begin_capture;
        number_parse(request->words[2], "", &frames, NULL);
        begin->frames = (uint32_t)frames;
        if (strcmp(request->words[1], "all") != 0)
            r = wire_take(begin->port, sizeof(begin->port), request->words[1], "a port's name",
                          err);
    }
    if (r == 0)
        r = client_call(client, duopoly_Envelope_captured_tag, &answer, err);
    if (r < 0)
        return r;
    const duopoly_Captured *captured = &answer->body.captured;
    writer_schema(writer, "capture", NULL);
    writer_field(writer, "path", "file", value_text(captured->path));
    writer_field(writer, "frames", "frames", value_number(captured->frames));
    writer_field(writer, "lost", "lost", value_number(captured->lost));
    writer_field(writer, "goes_on", "goes on", value_bool(captured->goes_on));
    return 0;
}

int run_fastpath(struct client *client, const struct request *request, struct writer *writer,
                 struct err *err)
{
    struct rows rows = {0};
    const duopoly_CounterRow *busy = NULL;
    if (request->n_words)
        return run_capture(client, request, writer, err);
    int r = rows_get(client, &rows, err);
    if (r == 0 && !(busy = row_find(&rows, "worker", "busy_cycles")))
        r = err_set(err, EPROTO,
                    "the peer is not a duopoly-fastpath: give its socket with --socket, and no "
                    "--controller");
    if (r == 0) {
        writer_schema(writer, "fastpath", NULL);
        sources_write(&rows, "ports", port_columns, writer);
        if (row_find(&rows, "macs", "alive"))
            sources_write(&rows, "switching", switch_columns, writer);
        queues_write(&rows, writer);
        sums_write(&rows, busy->value, writer);
        rest_write(&rows, writer);
    }
    free(rows.row);
    return r;
}

int fastpath_open(const char *path, struct client **ret_client, struct err *err)
{
    int r = client_open(path, ret_client, err);
    return r == -ENOENT || r == -ECONNREFUSED
               ? err_set(err, -r,
                         "no data plane listens on %s; is duopoly-fastpath running, and is this "
                         "its socket?",
                         path)
               : r;
}
