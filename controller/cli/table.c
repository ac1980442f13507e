#include "controller/cli/table.h"

#include "controller/cli/sorted.h"
#include "lib/now.h"
#include "lib/rowpack.h"

#include <assert.h>
#include <err.h>
#include <errno.h>
#include <stdlib.h>
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

/* A list that is being read. */
struct reading {
    struct client *client;
    const struct list *list;
    duopoly_List request; /* of the next page */
    struct list_seen *seen;
    struct rowpack pack;
    void *row; /* room for one that was packed */
};

static int page_ask(struct reading *reading, struct err *err)
{
    client_request(reading->client, duopoly_Envelope_list_tag)->body.list = reading->request;
    return client_send(reading->client, err);
}

static void seen_note(struct list_seen *seen, uint64_t version, bool changed)
{
    if (!seen)
        return;
    if (!seen->version)
        seen->version = version;
    seen->changed |= changed || seen->version != version;
}

/* Where the next page begins, and what the page says besides its rows. */
static void page_look(struct reading *reading, const duopoly_Envelope *answer)
{
    const struct list *list = reading->list;
    duopoly_List *request = &reading->request;
    const char *page = (const char *)answer;
    if (answer->which_body == duopoly_Envelope_packed_page_tag) {
        const duopoly_PackedPage *packed = &answer->body.packed_page;
        request->cursor = packed->cursor;
        request->version = packed->version;
        seen_note(reading->seen, packed->version, packed->changed);
        return;
    }
    request->cursor = *(const uint64_t *)(page + list->cursor);
    if (list->stage)
        request->stage = *(const uint32_t *)(page + list->stage);
    if (list->so_far)
        request->so_far = *(const duopoly_CoflowPart *)(page + list->so_far);
    if (list->page == duopoly_Envelope_page_tag) {
        request->version = answer->body.page.version;
        seen_note(reading->seen, answer->body.page.version, answer->body.page.changed);
    }
}

/* The next page is asked for before this one's rows are looked at, so that the controller works
 * meanwhile: an answer stays as it is while another one is only asked for. */
static int page_next(struct reading *reading, const duopoly_Envelope **ret_page, struct err *err)
{
    int r = client_answer_or(reading->client, reading->list->page,
                             reading->row ? duopoly_Envelope_packed_page_tag : reading->list->page,
                             ret_page, err);
    if (r < 0)
        return r;
    page_look(reading, *ret_page);
    return reading->request.cursor ? page_ask(reading, err) : 0;
}

typedef int row_each(void *user, const void *row, struct err *err);

static int packed_read(const struct reading *reading, const duopoly_PackedPage *page,
                       row_each *each, void *user, struct err *err)
{
    int r = 0;
    memset(reading->row, 0, reading->list->row_bytes);
    for (size_t at = 0; r == 0 && at < page->rows.size;) {
        const size_t length =
            rowpack_take(&reading->pack, page->rows.bytes + at, page->rows.size - at, reading->row);
        if (!length)
            return err_set(err, EPROTO, "the controller sent a page of %s that is malformed",
                           reading->list->key);
        at += length;
        r = each(user, reading->row, err);
    }
    return r;
}

static int page_read(const struct reading *reading, const duopoly_Envelope *answer, row_each *each,
                     void *user, struct err *err)
{
    const struct list *list = reading->list;
    const char *page = (const char *)answer;
    int r = 0;
    if (answer->which_body == duopoly_Envelope_packed_page_tag)
        return packed_read(reading, &answer->body.packed_page, each, user, err);
    const pb_size_t n = *(const pb_size_t *)(page + list->count);
    for (pb_size_t i = 0; r == 0 && i < n; i++)
        r = each(user, page + list->rows + i * list->row_bytes, err);
    return r;
}

/* Packed pages are asked for where such rows can be. */
static int reading_begin(struct reading *reading, struct err *err)
{
    const struct list *list = reading->list;
    reading->request.of = list->of;
    reading->request.cursor = 0;
    reading->request.has_so_far = list->so_far;
    if (list->page == duopoly_Envelope_page_tag &&
        rowpack_init(&reading->pack, list->fields, list->row_bytes)) {
        reading->request.packed = true;
        reading->row = malloc(list->row_bytes);
        if (!reading->row)
            return err_sys(err, ENOMEM, "the list");
    }
    return page_ask(reading, err);
}

int list_read(struct client *client, const struct list *list, duopoly_List request, row_each *each,
              void (*pause)(void *user), void *user, struct list_seen *seen, struct err *err)
{
    struct reading reading = {.client = client, .list = list, .request = request, .seen = seen};
    const duopoly_Envelope *page;
    int r = reading_begin(&reading, err);
    while (r == 0 && (r = page_next(&reading, &page, err)) == 0) {
        r = page_read(&reading, page, each, user, err);
        if (!reading.request.cursor)
            break;
        if (pause)
            pause(user);
    }
    if (r > 0 && reading.request.cursor) /* the page that was asked for is not needed */
        r = client_answer_or(client, list->page, duopoly_Envelope_packed_page_tag, &page, err);
    free(reading.row);
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
