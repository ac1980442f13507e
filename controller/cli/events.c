#include "controller/cli/events.h"

#include "controller/cli/since.h"
#include "lib/event_kinds.h"
#include "lib/join.h"
#include "lib/now.h"
#include "lib/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- which ones ---- */

/* EPOCH:NUMBER, as rows have it. */
static bool place_parse(const char *text, struct event_filter *filter)
{
    uint64_t epoch = 0;
    const char *end = number_take(text, UINT32_MAX, &epoch);
    if (!end || *end != ':' || !epoch)
        return false;
    end = number_take(end + 1, UINT64_MAX, &filter->after);
    filter->epoch = (uint32_t)epoch;
    return end && !*end;
}

int event_filter_parse(const struct request *request, struct event_filter *ret_filter,
                       struct err *err)
{
    *ret_filter = (struct event_filter){.limit = UINT64_MAX};
    if (request->kind && event_kinds_parse(request->kind, &ret_filter->kinds, err) < 0)
        return -EINVAL;
    if (request->since && !place_parse(request->since, ret_filter)) {
        ret_filter->epoch = 0;
        if (since_parse(request->since, NULL, &ret_filter->since_ns, err) < 0)
            return err_set(err, EINVAL,
                           "--since is the SEQUENCE of an event (3:1042), a time ago (90s, "
                           "10min, 2h), a day or an instant in UTC (2026-01-31, "
                           "2026-01-31T12:00:00Z), not '%s'",
                           request->since);
    }
    return request->limit ? number_parse(request->limit, "--limit", &ret_filter->limit, err) : 0;
}

int events_check(const struct request *request, struct err *err)
{
    struct event_filter filter;
    return event_filter_parse(request, &filter, err);
}

/* ---- rows ---- */

void events_begin(struct writer *writer)
{
    static const struct column columns[] = {
        {"sequence", "SEQUENCE"}, {"time", "TIME"},   {"kind", "KIND"}, {"what", "WHAT"},
        {"job", "JOB"},           {"stage", "STAGE"}, {"task", "TASK"}, {"attempt", NULL},
        {"host", "HOST"},         {"name", NULL},     {"by", NULL},     {"reason", NULL},
        {"text", "TEXT"},         {"lost", NULL},     {NULL, NULL}};
    writer_schema(writer, "events", "events");
    writer_table(writer, "events", columns);
}

static struct value word(const char *text)
{
    return *text ? value_text(text) : value_absent();
}

static struct value id(uint64_t number, bool there)
{
    return there ? value_id(number) : value_absent();
}

/* Whose it is, what is said of it, and why. */
static void text_say(const duopoly_EventRow *row, char *text, size_t size)
{
    const char *parts[] = {row->by, row->name, row->text, row->reason};
    *text = '\0';
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (*parts[i])
            join_word(text, size, ": ", parts[i]);
}

static void row_write(const duopoly_EventRow *row, uint32_t epoch, struct writer *writer)
{
    char sequence[40], text[sizeof(row->text) + 200];
    snprintf(sequence, sizeof(sequence), "%" PRIu32 ":%" PRIu64, epoch, row->sequence);
    text_say(row, text, sizeof(text));
    writer_cell(writer, value_text(sequence));
    writer_cell(writer, value_time(row->at_ns));
    writer_cell(writer,
                value_text((uint32_t)row->kind < EVENT_KIND_COUNT ? event_kind_words[row->kind]
                                                                  : "unknown"));
    writer_cell(writer, value_text(row->what));
    writer_cell(writer, id(row->job, row->job));
    writer_cell(writer, id(row->stage, row->has_stage));
    writer_cell(writer, id(row->task, row->has_task));
    writer_cell(writer, id(row->attempt, row->attempt));
    writer_cell(writer, word(row->host));
    writer_cell(writer, word(row->name));
    writer_cell(writer, word(row->by));
    writer_cell(writer, word(row->reason));
    writer_cell(writer, word(text));
    writer_cell(writer, value_absent());
}

void event_remark_write(const char *what, const char *text, uint64_t lost, struct writer *writer)
{
    enum { BETWEEN = 8 };
    writer_cell(writer, value_absent());
    writer_cell(writer, value_time(now_ns(CLOCK_REALTIME)));
    writer_cell(writer, value_text("watch"));
    writer_cell(writer, value_text(what));
    for (int i = 0; i < BETWEEN; i++)
        writer_cell(writer, value_absent());
    writer_cell(writer, value_text(text));
    writer_cell(writer, lost ? value_number(lost) : value_absent());
}

/* ---- pages ---- */

static void page_ask(struct client *client, const struct event_reading *reading, uint32_t wait_ms)
{
    const struct event_filter *filter = &reading->filter;
    duopoly_GetEvents *ask =
        &client_request(client, duopoly_Envelope_get_events_tag)->body.get_events;
    ask->kinds = filter->kinds;
    ask->wait_ms = wait_ms;
    if (reading->epoch) {
        ask->epoch = reading->epoch;
        ask->seen_count = reading->seen_count;
        memcpy(ask->seen, reading->seen, sizeof(ask->seen));
        return;
    }
    ask->epoch = filter->epoch;
    ask->after = filter->after;
    ask->since_ns = filter->since_ns;
    ask->newest = reading->newest;
    ask->coming = reading->coming;
}

static void remarks_write(const duopoly_EventPage *page, struct event_reading *reading,
                          struct writer *writer)
{
    char text[128];
    if (page->restarted) {
        snprintf(text, sizeof(text),
                 "the controller restarted (epoch %" PRIu32 "): what happened between is not known",
                 page->epoch);
        event_remark_write("restarted", text, 0, writer);
        reading->restarts++;
    }
    if (!page->lost)
        return;
    snprintf(text, sizeof(text), "%" PRIu64 " before these are not kept any more", page->lost);
    event_remark_write("lost", text, page->lost, writer);
    reading->lost += page->lost;
}

int event_page_read(struct client *client, struct event_reading *reading, uint32_t wait_ms,
                    struct writer *writer, struct err *err)
{
    const duopoly_Envelope *answer;
    page_ask(client, reading, wait_ms);
    int r = client_call(client, duopoly_Envelope_event_page_tag, &answer, err);
    if (r == -EREMOTEIO && client_refusal(client) == duopoly_Reason_REASON_UNSUPPORTED)
        return err_set(err, EOPNOTSUPP, "the controller is older than this: it keeps no events");
    if (r < 0)
        return r;
    const duopoly_EventPage *page = &answer->body.event_page;
    remarks_write(page, reading, writer);
    for (pb_size_t i = 0; i < page->rows_count && reading->rows < reading->filter.limit; i++) {
        row_write(&page->rows[i], page->epoch, writer);
        reading->rows++;
    }
    reading->epoch = page->epoch;
    reading->seen_count = page->seen_count;
    memcpy(reading->seen, page->seen, sizeof(reading->seen));
    reading->more = page->more;
    return 0;
}

int run_events(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    struct event_reading reading = {0};
    int r = event_filter_parse(request, &reading.filter, err);
    if (r < 0)
        return r;
    if (reading.filter.limit != UINT64_MAX)
        reading.newest = reading.filter.limit;
    events_begin(writer);
    do
        r = event_page_read(client, &reading, 0, writer, err);
    while (r == 0 && reading.more && reading.rows < reading.filter.limit);
    if (r == 0)
        writer_table_end(writer);
    return r;
}
