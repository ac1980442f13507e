#include "controller/clients/paging.h"

#include <string.h>

_Static_assert(LISTING_FILLS >= PAGING_LOOKS * PAGING_PORTIONS, "a page looks at no more");

static pb_size_t *count_in(const struct paging *paging, duopoly_Envelope *page)
{
    return (pb_size_t *)((char *)page + paging->of->count);
}

static char *row_in(const struct paging *paging, duopoly_Envelope *page, pb_size_t n)
{
    return (char *)page + paging->of->rows + n * paging->of->row_bytes;
}

/* Pages of other lists say more than rows, or are read as a whole. */
static bool is_in_portions(const duopoly_List *list)
{
    return list->of == duopoly_ListOf_LIST_JOBS || list->of == duopoly_ListOf_LIST_TASKS ||
           list->of == duopoly_ListOf_LIST_HOSTS;
}

void paging_begin(struct paging *paging, const duopoly_List *list)
{
    paging->list = *list;
    paging->of = is_in_portions(list) ? list_find(list->of) : NULL;
    paging->portions = paging->rows = 0;
    paging->packs = list->packed && paging->of && paging->of->row_bytes <= sizeof(paging->before) &&
                    rowpack_init(&paging->pack, paging->of->fields, paging->of->row_bytes);
    paging->bounds = paging->of
                         ? (struct sieve_bounds){.looks = PAGING_LOOKS, .steps = PAGING_STEPS}
                         : (struct sieve_bounds){
                               .rows = list->limit, .looks = LISTING_FILLS, .steps = LISTING_LOOKS};
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* How many rows it may still have. */
static uint32_t rows_left(const struct paging *paging)
{
    const uint32_t of_limit = paging->list.limit ? paging->list.limit - paging->rows : UINT32_MAX;
    return paging->packs ? of_limit : smaller(of_limit, paging->of->most - paging->rows);
}

static void packed_begin(struct paging *paging)
{
    duopoly_PackedPage *page =
        &wire_begin(&paging->page, duopoly_Envelope_packed_page_tag)->body.packed_page;
    page->version = paging->portion.body.page.version;
    memset(paging->before, 0, paging->of->row_bytes);
}

/* Whether they all fit; else none of them is added. */
static bool rows_pack(struct paging *paging)
{
    duopoly_PackedPage *page = &paging->page.body.packed_page;
    const pb_size_t n = *count_in(paging, &paging->portion);
    size_t used = page->rows.size;
    const char *before = paging->rows ? paging->before : NULL;
    for (pb_size_t i = 0; i < n; i++) {
        const char *row = row_in(paging, &paging->portion, i);
        const size_t length = rowpack_put(&paging->pack, before, row, page->rows.bytes + used,
                                          sizeof(page->rows.bytes) - used);
        if (!length)
            return false;
        used += length;
        before = row;
    }
    if (n)
        memcpy(paging->before, before, paging->of->row_bytes);
    page->rows.size = (pb_size_t)used;
    return true;
}

static void rows_copy(struct paging *paging)
{
    pb_size_t *n = count_in(paging, &paging->page);
    const pb_size_t more = *count_in(paging, &paging->portion);
    memcpy(row_in(paging, &paging->page, *n), row_in(paging, &paging->portion, 0),
           more * paging->of->row_bytes);
    *n += more;
}

/* Of the last portion, to where it goes on. */
static void portion_end(struct paging *paging)
{
    const duopoly_Page *portion = &paging->portion.body.page;
    paging->rows += *count_in(paging, &paging->portion);
    paging->list.cursor = portion->cursor;
    paging->list.version = portion->version;
    if (paging->packs) {
        paging->page.body.packed_page.cursor = portion->cursor;
        paging->page.body.packed_page.changed |= portion->changed;
    } else {
        paging->page.body.page.cursor = portion->cursor;
        paging->page.body.page.changed |= portion->changed;
    }
}

/* False: the page ends without it. */
static bool portion_add(struct paging *paging)
{
    const bool first = paging->portions == 1;
    if (paging->packs) {
        if (first)
            packed_begin(paging);
        if (rows_pack(paging))
            return true;
        if (!first)
            return false;
        paging->packs = false; /* WHY: so large rows are sent as they are */
    }
    if (first)
        paging->page = paging->portion;
    else
        rows_copy(paging);
    return true;
}

static bool is_whole(const struct paging *paging)
{
    const uint32_t most = paging->packs ? PAGING_PORTIONS_PACKED : PAGING_PORTIONS;
    return !paging->list.cursor || paging->portions == most || !rows_left(paging);
}

bool paging_go_on(struct paging *paging, const struct listing_sources *sources)
{
    if (!paging->of) {
        listing_page(sources, &paging->list, &paging->bounds, &paging->page);
        return false;
    }
    paging->bounds.rows = smaller(PAGING_ROWS, rows_left(paging));
    listing_page(sources, &paging->list, &paging->bounds, &paging->portion);
    paging->portions++;
    if (paging->portion.which_body != paging->of->page) {
        /* It is refused; where there is a part of a page, the next one is. */
        if (paging->portions == 1)
            paging->page = paging->portion;
        return false;
    }
    if (!portion_add(paging))
        return false;
    portion_end(paging);
    return !is_whole(paging);
}
