#include "controller/cli/table.h"

#include <assert.h>

static int64_t number_at(enum cell_type type, const void *at)
{
    switch (type) {
    case CELL_U32:
        return *(const uint32_t *)at;
    case CELL_U64:
        return (int64_t)(*(const uint64_t *)at);
    case CELL_I32:
        return *(const int32_t *)at;
    case CELL_I64:
        return *(const int64_t *)at;
    default:
        return *(const bool *)at;
    }
}

struct value cell_value(const struct cell *cell, const void *row, char words[CELL_WORDS])
{
    const char *at = (const char *)row + cell->offset;
    if (cell->lacks && cell->lacks(row))
        return value_absent();
    if (cell->value)
        return cell->value(row, words);
    if (cell->type == CELL_TEXT)
        return *at || cell->unless != UNLESS_NOTHING ? value_text(at) : value_absent();
    const int64_t number = number_at(cell->type, at);
    if ((cell->unless == UNLESS_NOTHING && number == 0) ||
        (cell->unless == UNLESS_NEGATIVE && number < 0))
        return value_absent();
    return (struct value){.kind = cell->kind, .number = (uint64_t)number, .signed_number = number};
}

void table_begin(struct table *table, const char *key, const struct cell *cells,
                 struct writer *writer)
{
    size_t n = 0;
    *table = (struct table){.writer = writer, .cells = cells};
    for (; cells[n].key; n++) {
        assert(n < TABLE_COLUMNS_MAX);
        table->columns[n] = (struct column){cells[n].key, cells[n].heading};
    }
    writer_table(writer, key, table->columns);
}

void table_row(struct table *table, const void *row)
{
    char words[CELL_WORDS];
    for (const struct cell *cell = table->cells; cell->key; cell++)
        writer_cell(table->writer, cell_value(cell, row, words));
}

void table_end(struct table *table)
{
    writer_table_end(table->writer);
}

static int page_ask(struct client *client, const duopoly_List *request, struct err *err)
{
    client_request(client, duopoly_Envelope_list_tag)->body.list = *request;
    return client_send(client, err);
}

/* The next page is asked for before this one's rows are looked at, so that the controller works
 * meanwhile: an answer stays as it is while another one is only asked for. */
static int page_next(struct client *client, const struct list *list, duopoly_List *request,
                     const char **ret_page, bool *ret_changed, struct err *err)
{
    const duopoly_Envelope *answer;
    int r = client_answer(client, list->page, &answer, err);
    if (r < 0)
        return r;
    *ret_page = (const char *)answer;
    request->cursor = *(const uint64_t *)(*ret_page + list->cursor);
    if (list->stage)
        request->stage = *(const uint32_t *)(*ret_page + list->stage);
    if (list->page == duopoly_Envelope_page_tag) {
        request->version = answer->body.page.version;
        if (ret_changed)
            *ret_changed |= answer->body.page.changed;
    }
    return request->cursor ? page_ask(client, request, err) : 0;
}

int list_read(struct client *client, const struct list *list, duopoly_List request,
              int (*each)(void *user, const void *row, struct err *err), void *user,
              bool *ret_changed, struct err *err)
{
    const duopoly_Envelope *answer;
    const char *page;
    request.of = list->of;
    request.cursor = 0;
    int r = page_ask(client, &request, err);
    while (r == 0 && (r = page_next(client, list, &request, &page, ret_changed, err)) == 0) {
        const pb_size_t n = *(const pb_size_t *)(page + list->count);
        for (pb_size_t i = 0; r == 0 && i < n; i++)
            r = each(user, page + list->rows + i * list->row_bytes, err);
        if (!request.cursor)
            break;
    }
    if (r > 0 && request.cursor) /* the page that was asked for is not needed */
        r = client_answer(client, list->page, &answer, err);
    return r < 0 ? r : 0;
}

static int row_write(void *user, const void *row, struct err *err)
{
    (void)err;
    table_row(user, row);
    return 0;
}

int list_table(struct client *client, const struct list *list, duopoly_List request,
               struct writer *writer, bool *ret_changed, struct err *err)
{
    struct table table;
    table_begin(&table, list->key, list->cells, writer);
    int r = list_read(client, list, request, row_write, &table, ret_changed, err);
    if (r == 0)
        table_end(&table);
    return r;
}

int list_table_of(struct client *client, const struct list *list, const char *name,
                  const char *what, struct writer *writer, struct err *err)
{
    duopoly_List request = {0};
    int r = wire_take(request.name, sizeof(request.name), name, what, err);
    return r < 0 ? r : list_table(client, list, request, writer, NULL, err);
}
