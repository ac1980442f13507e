#include "controller/cli/audit.h"

#include "controller/cli/since.h"
#include "lib/grow.h"
#include "lib/plural.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED "refused"

struct filter {
    const char *who, *what; /* NULL: any */
    uint64_t since_ns;      /* of the wall clock */
    bool refused, done;     /* which of them are shown */
    uint64_t limit;
};

struct rows {
    duopoly_AuditRow *at;
    size_t n, allocated;
    uint64_t oldest; /* number of the first that the controller lists; 0: none */
};

static int word_check(const char *word, const char *option, struct err *err)
{
    return !word || *word ? 0 : err_set(err, EINVAL, "%s needs a word", option);
}

static int filter_parse(const struct request *request, struct filter *ret_filter, struct err *err)
{
    *ret_filter = (struct filter){.who = request->who,
                                  .what = request->what,
                                  .limit = UINT64_MAX,
                                  .refused = true,
                                  .done = true};
    if (word_check(request->who, "--who", err) < 0 || word_check(request->what, "--what", err) < 0)
        return -EINVAL;
    if (request->result) {
        ret_filter->refused = strcmp(request->result, REFUSED) == 0;
        ret_filter->done = strcmp(request->result, "done") == 0;
    }
    if (!ret_filter->refused && !ret_filter->done)
        return err_set(err, EINVAL, "--result is done or refused, not '%s'", request->result);
    int r = request->since ? since_parse(request->since, &ret_filter->since_ns, err) : 0;
    return r == 0 && request->limit
               ? number_parse(request->limit, "--limit", &ret_filter->limit, err)
               : r;
}

int audit_check(const struct request *request, struct err *err)
{
    struct filter filter;
    return filter_parse(request, &filter, err);
}

static bool is_wanted(const struct filter *filter, const duopoly_AuditRow *row)
{
    bool refused = strncmp(row->result, REFUSED, strlen(REFUSED)) == 0;
    return (!filter->who || strstr(row->who, filter->who)) &&
           (!filter->what || strstr(row->what, filter->what)) && row->at_ns >= filter->since_ns &&
           (refused ? filter->refused : filter->done);
}

static int row_keep(struct rows *rows, const duopoly_AuditRow *row, struct err *err)
{
    if (!array_grow(rows->at, rows->n, rows->allocated, 64))
        return err_sys(err, ENOMEM, "the audit");
    rows->at[rows->n++] = *row;
    return 0;
}

static int rows_read(struct client *client, const struct filter *filter, struct rows *rows,
                     struct err *err)
{
    const duopoly_Envelope *answer;
    uint64_t after = 0;
    do {
        client_request(client, duopoly_Envelope_get_audit_tag)->body.get_audit.after = after;
        int r = client_call(client, duopoly_Envelope_audit_page_tag, &answer, err);
        const duopoly_AuditPage *page = &answer->body.audit_page;
        for (pb_size_t i = 0; r == 0 && i < page->rows_count; i++) {
            after = page->rows[i].n;
            rows->oldest = rows->oldest ? rows->oldest : after;
            if (is_wanted(filter, &page->rows[i]))
                r = row_keep(rows, &page->rows[i], err);
        }
        if (r < 0)
            return r;
    } while (answer->body.audit_page.more);
    return 0;
}

static void row_write(const duopoly_AuditRow *row, struct writer *writer)
{
    writer_cell(writer, value_id(row->n));
    writer_cell(writer, value_time(row->at_ns));
    writer_cell(writer, value_text(row->who));
    writer_cell(writer, value_text(row->what));
    writer_cell(writer, value_text(row->result));
}

static void cut_write(const char *key, const char *format, uint64_t number, struct writer *writer)
{
    char text[96];
    snprintf(text, sizeof(text), format, number, plural(number));
    if (number)
        writer_field(writer, key, key, value_text(text));
}

static void rows_write(const struct rows *rows, const struct filter *filter, struct writer *writer)
{
    static const struct column columns[] = {{"n", "NUMBER"},  {"time", "TIME"},     {"who", "WHO"},
                                            {"what", "WHAT"}, {"result", "RESULT"}, {NULL, NULL}};
    size_t first = rows->n > filter->limit ? rows->n - (size_t)filter->limit : 0;
    writer_schema(writer, "audit", "audit");
    writer_table(writer, "audit", columns);
    for (size_t i = first; i < rows->n; i++)
        row_write(&rows->at[i], writer);
    writer_table_end(writer);
    cut_write("more", "%" PRIu64 " older line%s not shown: raise --limit", first, writer);
    cut_write("older", "%" PRIu64 " line%s before these in the store only, not looked at",
              rows->oldest > 1 ? rows->oldest - 1 : 0, writer);
}

int run_audit(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    struct filter filter;
    struct rows rows = {0};
    int r = filter_parse(request, &filter, err);
    if (r == 0)
        r = rows_read(client, &filter, &rows, err);
    if (r == 0)
        rows_write(&rows, &filter, writer);
    free(rows.at);
    return r;
}
