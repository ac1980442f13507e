#include "controller/cli/asked.h"

#include "controller/cli/exits.h"

#include <errno.h>

/* WHY a bound: an agent that is not ours may go on for ever. */
#define PARTS_MAX 4096

/* Adds a page's rows; *ret_page: the page, which is borrowed until the next one. */
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
    for (pb_size_t i = 0; i < n; i++)
        table_row(table, page + list->rows + i * list->row_bytes);
    *ret_page = &answer->body.asked_page;
    return 0;
}

static int end_write(const duopoly_AskedPage *page, const char *host, struct writer *writer,
                     struct err *err)
{
    if (page->cursor) {
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

int asked_write(struct client *client, const struct list *list, const char *host,
                struct writer *writer, struct err *err)
{
    const duopoly_AskedPage *page = NULL;
    duopoly_List request = {.of = list->of};
    struct table table;
    int r = wire_take(request.name, sizeof(request.name), host, "an agent's name", err);
    if (r < 0)
        return r;
    writer_schema(writer, list->key, list->key);
    table_begin(&table, list->key, list->cells, writer);
    for (int parts = 0; parts == 0 || (request.cursor && parts < PARTS_MAX); parts++) {
        if ((r = page_add(client, list, &request, &table, &page, err)) < 0)
            return r;
        request.cursor = page->cursor;
    }
    table_end(&table);
    return end_write(page, host, writer, err);
}
