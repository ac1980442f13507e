#include "controller/cli/audit.h"

#include "controller/cli/table.h"
#include "lib/grow.h"
#include "lib/plural.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED "refused"

/* What its own options ask for, besides those of every list. */
struct wanted {
    const char *who, *what; /* NULL: any */
    bool refused, done;     /* which of them are shown */
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

static int wanted_parse(const struct request *request, struct wanted *ret_wanted, struct err *err)
{
    *ret_wanted =
        (struct wanted){.who = request->who, .what = request->what, .refused = true, .done = true};
    if (word_check(request->who, "--who", err) < 0 || word_check(request->what, "--what", err) < 0)
        return -EINVAL;
    if (request->result) {
        ret_wanted->refused = strcmp(request->result, REFUSED) == 0;
        ret_wanted->done = strcmp(request->result, "done") == 0;
    }
    if (!ret_wanted->refused && !ret_wanted->done)
        return err_set(err, EINVAL, "--result is done or refused, not '%s'", request->result);
    return 0;
}

int audit_check(const struct request *request, struct err *err)
{
    struct wanted wanted;
    return wanted_parse(request, &wanted, err);
}

static bool is_wanted(const struct wanted *wanted, const duopoly_AuditRow *row)
{
    bool refused = strncmp(row->result, REFUSED, strlen(REFUSED)) == 0;
    return (!wanted->who || strstr(row->who, wanted->who)) &&
           (!wanted->what || strstr(row->what, wanted->what)) &&
           (refused ? wanted->refused : wanted->done);
}

static int row_keep(struct rows *rows, const duopoly_AuditRow *row, struct err *err)
{
    if (!array_grow(rows->at, rows->n, rows->allocated, 64))
        return err_sys(err, ENOMEM, "the audit");
    rows->at[rows->n++] = *row;
    return 0;
}

/* The wanted rows of a page; the number after which the next begins. An older controller does not
 * say it, nor which row is the oldest. */
static int page_keep(const duopoly_AuditPage *page, const struct wanted *wanted, struct rows *rows,
                     uint64_t *after, struct err *err)
{
    int r = 0;
    if (!rows->oldest)
        rows->oldest = page->oldest || !page->rows_count ? page->oldest : page->rows[0].n;
    for (pb_size_t i = 0; r == 0 && i < page->rows_count; i++) {
        *after = page->rows[i].n;
        if (is_wanted(wanted, &page->rows[i]))
            r = row_keep(rows, &page->rows[i], err);
    }
    *after = page->after ? page->after : *after;
    return r;
}

static int rows_read(struct client *client, const struct wanted *wanted, const char *filter,
                     struct rows *rows, struct err *err)
{
    const duopoly_Envelope *answer;
    uint64_t after = 0;
    do {
        duopoly_GetAudit *get =
            &client_request(client, duopoly_Envelope_get_audit_tag)->body.get_audit;
        get->after = after;
        strcpy(get->filter, filter);
        int r = client_call(client, duopoly_Envelope_audit_page_tag, &answer, err);
        if (r == 0)
            r = page_keep(&answer->body.audit_page, wanted, rows, &after, err);
        if (r < 0)
            return r;
    } while (answer->body.audit_page.more);
    return 0;
}

static void cut_write(const char *key, const char *format, uint64_t number, struct writer *writer)
{
    char text[96];
    snprintf(text, sizeof(text), format, number, plural(number));
    if (number)
        writer_field(writer, key, key, value_text(text));
}

/* In the order of time a limit leaves the newest; in another order the first ones. */
static int rows_write(const struct rows *rows, const struct selection *selection,
                      struct writer *writer, struct err *err)
{
    struct table table;
    const bool newest = !selection->by_n && rows->n > selection->limit;
    const size_t first = newest ? rows->n - (size_t)selection->limit : 0;
    int r = 0;
    selection_schema(selection, writer);
    table_begin(&table, list_of_audit.key, list_of_audit.cells, selection, writer);
    for (size_t i = first; r == 0 && i < rows->n; i++)
        r = table_row(&table, &rows->at[i], err);
    if (table_end(&table, r) < 0)
        return r;
    cut_write("more", "%" PRIu64 " older line%s not shown: raise --limit", first, writer);
    cut_write("older", "%" PRIu64 " line%s before these in the store only, not looked at",
              rows->oldest > 1 ? rows->oldest - 1 : 0, writer);
    return 0;
}

int run_audit(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    struct wanted wanted;
    struct selection selection;
    struct rows rows = {0};
    int r = wanted_parse(request, &wanted, err);
    if (r == 0)
        r = selection_read(request, &list_of_audit, &selection, err);
    if (r == 0)
        r = rows_read(client, &wanted, selection.text, &rows, err);
    if (r == 0)
        r = rows_write(&rows, &selection, writer, err);
    free(rows.at);
    return r;
}
