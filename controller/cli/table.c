#include "controller/cli/table.h"

#include "controller/cli/sorted.h"
#include "lib/now.h"

#include <assert.h>
#include <err.h>
#include <string.h>

/* Rows that came wait at most this long, and until the next page. */
#define PATIENCE_NS UINT64_C(10000000)

/* Whoever names a column sees it. */
static void column_add(struct table *table, const struct cell *cell, bool named)
{
    assert(table->cells_n < CELLS_MAX);
    table->columns[table->cells_n] =
        (struct column){cell->key, named && !cell->heading ? cell->key : cell->heading};
    table->cells[table->cells_n++] = cell;
}

void table_begin(struct table *table, const char *key, const struct cell *cells,
                 const struct selection *selection, struct writer *writer)
{
    *table =
        (struct table){.writer = writer, .selection = selection, .put_ns = now_ns(CLOCK_MONOTONIC)};
    if (selection && selection->columns_n)
        for (uint8_t i = 0; i < selection->columns_n; i++)
            column_add(table, selection->columns[i], true);
    else
        for (; cells->key; cells++)
            column_add(table, cells, false);
    if (selection && selection->by_n && !(table->sorted = sorted_create(selection)))
        errx(1, "out of memory");
    writer_table(writer, key, table->columns);
}

static void row_write(void *user, const void *row)
{
    struct table *table = user;
    char words[CELL_WORDS];
    for (uint8_t i = 0; i < table->cells_n; i++)
        writer_cell(table->writer, cell_value(table->cells[i], row, words));
    table->written++;
}

int table_row(struct table *table, const void *row, struct err *err)
{
    const struct selection *selection = table->selection;
    if (selection && selection->list->local && !filter_keeps(&selection->filter, row))
        return 0;
    if (table->sorted)
        return sorted_take(table->sorted, row, err);
    row_write(table, row);
    return selection && table->written == selection->limit;
}

void table_settle(struct table *table)
{
    if (table->put == table->written || now_ns(CLOCK_MONOTONIC) - table->put_ns < PATIENCE_NS)
        return;
    writer_now(table->writer);
    table->put = table->written;
    table->put_ns = now_ns(CLOCK_MONOTONIC);
}

int table_end(struct table *table, int r)
{
    if (r < 0) {
        sorted_destroy(table->sorted);
        return r;
    }
    if (table->sorted)
        sorted_end(table->sorted, row_write, table);
    writer_table_end(table->writer);
    return r;
}

static int page_ask(struct client *client, const duopoly_List *request, struct err *err)
{
    client_request(client, duopoly_Envelope_list_tag)->body.list = *request;
    return client_send(client, err);
}

/* The next page is asked for before this one's rows are looked at, so that the controller works
 * meanwhile: an answer stays as it is while another one is only asked for. */
static int page_next(struct client *client, const struct list *list, duopoly_List *request,
                     const char **ret_page, struct list_seen *seen, struct err *err)
{
    const duopoly_Envelope *answer;
    int r = client_answer(client, list->page, &answer, err);
    if (r < 0)
        return r;
    *ret_page = (const char *)answer;
    request->cursor = *(const uint64_t *)(*ret_page + list->cursor);
    if (list->stage)
        request->stage = *(const uint32_t *)(*ret_page + list->stage);
    if (list->so_far)
        request->so_far = *(const duopoly_CoflowPart *)(*ret_page + list->so_far);
    if (list->page == duopoly_Envelope_page_tag) {
        request->version = answer->body.page.version;
        if (seen && !seen->version)
            seen->version = request->version;
        if (seen)
            seen->changed |= answer->body.page.changed || seen->version != request->version;
    }
    return request->cursor ? page_ask(client, request, err) : 0;
}

int list_read(struct client *client, const struct list *list, duopoly_List request,
              int (*each)(void *user, const void *row, struct err *err), void (*pause)(void *user),
              void *user, struct list_seen *seen, struct err *err)
{
    const duopoly_Envelope *answer;
    const char *page;
    request.of = list->of;
    request.cursor = 0;
    request.has_so_far = list->so_far;
    int r = page_ask(client, &request, err);
    while (r == 0 && (r = page_next(client, list, &request, &page, seen, err)) == 0) {
        const pb_size_t n = *(const pb_size_t *)(page + list->count);
        for (pb_size_t i = 0; r == 0 && i < n; i++)
            r = each(user, page + list->rows + i * list->row_bytes, err);
        if (!request.cursor)
            break;
        if (pause)
            pause(user);
    }
    if (r > 0 && request.cursor) /* the page that was asked for is not needed */
        r = client_answer(client, list->page, &answer, err);
    return r < 0 ? r : 0;
}

static int row_take(void *user, const void *row, struct err *err)
{
    return table_row(user, row, err);
}

static void settle(void *user)
{
    table_settle(user);
}

int list_table(struct client *client, const struct list *list, duopoly_List ask,
               const struct selection *selection, struct writer *writer, struct list_seen *seen,
               struct err *err)
{
    struct table table;
    table_begin(&table, list->key, list->cells, selection, writer);
    return table_end(&table, list_read(client, list, ask, row_take, settle, &table, seen, err));
}

int list_show(struct client *client, const struct list *list, const struct request *request,
              duopoly_List ask, struct writer *writer, struct err *err)
{
    struct selection selection;
    struct list_seen seen = {0};
    int r = selection_read(request, list, &selection, err);
    if (r < 0)
        return r;
    strcpy(ask.filter, selection.text);
    selection_schema(&selection, writer);
    r = list_table(client, list, ask, &selection, writer, &seen, err);
    if (r == 0 && list->page == duopoly_Envelope_page_tag)
        writer_field(writer, "changed", NULL, value_bool(seen.changed));
    return r;
}

int list_show_of(struct client *client, const struct list *list, const struct request *request,
                 const char *what, struct writer *writer, struct err *err)
{
    duopoly_List ask = {0};
    const char *name = request->n_words ? request->words[0] : "";
    int r = wire_take(ask.name, sizeof(ask.name), name, what, err);
    return r < 0 ? r : list_show(client, list, request, ask, writer, err);
}

int list_table_of(struct client *client, const struct list *list, const char *name,
                  const char *what, struct writer *writer, struct err *err)
{
    duopoly_List ask = {0};
    int r = wire_take(ask.name, sizeof(ask.name), name, what, err);
    return r < 0 ? r : list_table(client, list, ask, NULL, writer, NULL, err);
}
