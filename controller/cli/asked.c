#include "controller/cli/asked.h"

#include "controller/cli/exits.h"

#include <errno.h>

/* WHY a bound: an agent that is not ours may go on for ever. */
#define PARTS_MAX 4096

/* Adds a page's rows; *ret_page: the page, which is borrowed until the next one. 1: no more rows
 * are wanted. */
static int page_add(struct client *client, const struct list *list, const duopoly_List *request,
                    struct table *table, const duopoly_AskedPage **ret_page, struct err *err)
{
    const duopoly_Envelope *answer;
    client_request(client, duopoly_Envelope_list_tag)->body.list = *request;
    int r = client_call(client, list->page, &answer, err);
    if (r < 0)
        return r;
    const char *page = (const char *)answer;
    const pb_size_t n = *(const pb_size_t *)(page + list->count);
    *ret_page = &answer->body.asked_page;
    for (pb_size_t i = 0; r == 0 && i < n; i++)
        r = table_row(table, page + list->rows + i * list->row_bytes, err);
    return r;
}

static int end_write(const duopoly_AskedPage *page, bool enough, const char *host,
                     struct writer *writer, struct err *err)
{
    if (page->cursor && !enough) {
        err_set(err, E2BIG, "%s tells more than %d parts: the rest is left out", host, PARTS_MAX);
        return EXIT_PARTIAL;
    }
    if (page->unanswered) {
        err_set(err, EHOSTUNREACH, "%s", page->text);
        return EXIT_PARTIAL;
    }
    writer_field(writer, "text", *page->text ? "note" : NULL,
                 *page->text ? value_text(page->text) : value_absent());
    return 0;
}

static int pages_write(struct client *client, duopoly_List *ask, const char *host,
                       const struct selection *selection, struct writer *writer, struct err *err)
{
    const struct list *list = selection->list;
    const duopoly_AskedPage *page = NULL;
    struct table table;
    int r = 0;
    table_begin(&table, list->key, list->cells, selection, writer);
    for (int parts = 0; r == 0 && (parts == 0 || (ask->cursor && parts < PARTS_MAX)); parts++) {
        r = page_add(client, list, ask, &table, &page, err);
        if (r < 0)
            break;
        ask->cursor = page->cursor;
        table_settle(&table);
    }
    return table_end(&table, r) < 0 ? r : end_write(page, r > 0, host, writer, err);
}

int asked_write(struct client *client, const struct list *list, const struct request *request,
                struct writer *writer, struct err *err)
{
    const char *host = request->words[0];
    duopoly_List ask = {.of = list->of};
    struct selection selection;
    int r = selection_read(request, list, &selection, err);
    if (r == 0)
        r = wire_take(ask.name, sizeof(ask.name), host, "an agent's name", err);
    if (r < 0)
        return r;
    selection_schema(&selection, writer);
    return pages_write(client, &ask, host, &selection, writer, err);
}
