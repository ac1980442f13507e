#include "controller/cli/top_fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum part { NOTHING, STATUS, ROWS };

/* Rows are collected in one of two rooms while those in the other are shown. */
struct top_fetch {
    struct client *client;
    enum part asked;
    unsigned view, wanted, pages;
    uint64_t changes;
    duopoly_List list;
    char *rooms[2];
    unsigned room; /* that is collected in */
    size_t n;
};

static size_t room_bytes(void)
{
    size_t most = 0;
    for (unsigned i = 0; i < TOP_VIEWS; i++)
        if (top_views[i].list->row_bytes > most)
            most = top_views[i].list->row_bytes;
    return most * TOP_LINES;
}

struct top_fetch *top_fetch_create(struct client *client)
{
    struct top_fetch *fetch = calloc(1, sizeof(*fetch));
    if (!fetch)
        return NULL;
    fetch->client = client;
    for (int i = 0; i < 2; i++)
        fetch->rooms[i] = malloc(room_bytes());
    if (fetch->rooms[0] && fetch->rooms[1])
        return fetch;
    top_fetch_destroy(fetch);
    return NULL;
}

void top_fetch_destroy(struct top_fetch *fetch)
{
    if (!fetch)
        return;
    free(fetch->rooms[0]);
    free(fetch->rooms[1]);
    free(fetch);
}

bool top_fetch_busy(const struct top_fetch *fetch)
{
    return fetch->asked != NOTHING;
}

bool top_fetch_is_of(const struct top_fetch *fetch, const struct top_state *state)
{
    return fetch->changes == state->changes;
}

void top_fetch_forget(struct top_fetch *fetch)
{
    fetch->asked = NOTHING;
}

static int ask(struct top_fetch *fetch, enum part part, struct err *err)
{
    int r = client_send(fetch->client, err);
    fetch->asked = r < 0 ? NOTHING : part;
    return r;
}

int top_fetch_begin(struct top_fetch *fetch, const struct top_state *state, unsigned rows,
                    struct err *err)
{
    const struct top_view *view = &top_views[state->view];
    fetch->view = state->view;
    fetch->changes = state->changes;
    fetch->wanted = rows;
    fetch->n = fetch->pages = 0;
    fetch->list = (duopoly_List){
        .of = view->list->of, .in_turn = view->in_turn, .cursor = state->starts[state->page]};
    strcpy(fetch->list.filter, state->filters[state->view]);
    client_request(fetch->client, duopoly_Envelope_get_status_tag);
    return ask(fetch, STATUS, err);
}

static int rows_ask(struct top_fetch *fetch, struct err *err)
{
    fetch->list.limit = (uint32_t)(fetch->wanted - fetch->n);
    client_request(fetch->client, duopoly_Envelope_list_tag)->body.list = fetch->list;
    fetch->pages++;
    return ask(fetch, ROWS, err);
}

static int rows_end(struct top_fetch *fetch, struct top_state *state, struct top_shown *shown)
{
    fetch->asked = NOTHING;
    if (!top_answer(state, fetch->changes, fetch->list.cursor))
        return 1;
    shown->view = fetch->view;
    shown->changes = fetch->changes;
    shown->rows = fetch->rooms[fetch->room];
    shown->n = fetch->n;
    shown->cut = fetch->list.cursor && fetch->n < fetch->wanted;
    fetch->room = !fetch->room;
    return 1;
}

static int rows_take(struct top_fetch *fetch, struct top_state *state, struct top_shown *shown,
                     struct err *err)
{
    const struct list *list = top_views[fetch->view].list;
    const duopoly_Envelope *answer;
    int r = client_take(fetch->client, list->page, &answer, err);
    if (r < 0)
        return r;
    const char *page = (const char *)answer;
    const size_t left = fetch->wanted - fetch->n, n = *(const pb_size_t *)(page + list->count),
                 taken = n < left ? n : left;
    memcpy(fetch->rooms[fetch->room] + fetch->n * list->row_bytes, page + list->rows,
           taken * list->row_bytes);
    fetch->n += taken;
    fetch->list.cursor = *(const uint64_t *)(page + list->cursor);
    if (list->page == duopoly_Envelope_page_tag)
        fetch->list.version = answer->body.page.version;
    const unsigned pages = *fetch->list.filter ? TOP_FETCH_FILTERED : TOP_FETCH_PAGES;
    return fetch->list.cursor && fetch->n < fetch->wanted && fetch->pages < pages
               ? rows_ask(fetch, err)
               : rows_end(fetch, state, shown);
}

static int status_take(struct top_fetch *fetch, struct top_shown *shown, struct err *err)
{
    const duopoly_Envelope *answer;
    int r = client_take(fetch->client, duopoly_Envelope_status_tag, &answer, err);
    if (r < 0)
        return r;
    shown->status = answer->body.status;
    shown->known = true;
    if (fetch->wanted)
        return rows_ask(fetch, err);
    fetch->asked = NOTHING;
    return 1;
}

int top_fetch_go_on(struct top_fetch *fetch, struct top_state *state, struct top_shown *shown,
                    struct err *err)
{
    int r = 0;
    while (r == 0 && fetch->asked != NOTHING)
        r = fetch->asked == STATUS ? status_take(fetch, shown, err)
                                   : rows_take(fetch, state, shown, err);
    if (r < 0 && r != -EAGAIN)
        fetch->asked = NOTHING;
    return r == -EAGAIN ? 0 : r;
}
