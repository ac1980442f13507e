/* Pages that are put together from portions, of a list that is scripted here. */
#include "tests/unit/test.h"

#include "controller/clients/paging.h"

#include <string.h>

static struct {
    uint32_t tasks;     /* numbered from 0 */
    uint32_t keep;      /* one in so many is kept */
    uint32_t refuse_at; /* the portion that is refused, from 1; 0: none */
    uint32_t change_at; /* the one at which the state has changed */
    uint32_t portions, rows_most, looks_most;
    size_t text; /* bytes of a task's text */
} list;

void __wrap_listing_page(const struct listing_sources *sources, const duopoly_List *asked,
                         const struct sieve_bounds *bounds, duopoly_Envelope *answer);

void __wrap_listing_page(const struct listing_sources *sources, const duopoly_List *asked,
                         const struct sieve_bounds *bounds, duopoly_Envelope *answer)
{
    (void)sources;
    if (++list.portions == list.refuse_at) {
        wire_begin(answer, duopoly_Envelope_refused_tag);
        return;
    }
    duopoly_Page *page = &wire_begin(answer, duopoly_Envelope_page_tag)->body.page;
    uint32_t at = (uint32_t)asked->cursor, looks = 0;
    page->version = asked->cursor ? asked->version : 5;
    page->changed = list.change_at && list.portions >= list.change_at;
    for (; at < list.tasks && looks < bounds->looks &&
           (!bounds->rows || page->tasks_count < bounds->rows);
         at++, looks++) {
        if (at % list.keep)
            continue;
        duopoly_TaskRow *row = &page->tasks[page->tasks_count++];
        row->job = 1;
        row->task = at;
        strcpy(row->state, at % 7 ? "ready" : "running");
        memset(row->text, 'a' + (int)(at % 26), list.text);
    }
    page->cursor = at < list.tasks ? at : 0;
    list.rows_most = page->tasks_count > list.rows_most ? page->tasks_count : list.rows_most;
    list.looks_most = looks > list.looks_most ? looks : list.looks_most;
}

static struct paging paging;
static uint32_t seen, in_page; /* rows, in order */

static void row_see(const duopoly_TaskRow *row)
{
    char text[sizeof(row->text)] = "";
    assert_int_equal(row->task, seen * list.keep);
    assert_int_equal(row->job, 1);
    assert_string_equal(row->state, row->task % 7 ? "ready" : "running");
    memset(text, 'a' + (int)(row->task % 26), list.text);
    assert_string_equal(row->text, text);
    seen++;
    in_page++;
}

static uint64_t page_see(const duopoly_Envelope *answer)
{
    const duopoly_PackedPage *packed = &answer->body.packed_page;
    const duopoly_Page *page = &answer->body.page;
    duopoly_TaskRow row = duopoly_TaskRow_init_zero;
    struct rowpack pack;
    in_page = 0;
    if (answer->which_body == duopoly_Envelope_page_tag) {
        for (pb_size_t i = 0; i < page->tasks_count; i++)
            row_see(&page->tasks[i]);
        assert_int_equal(page->version, 5);
        return page->cursor;
    }
    assert_int_equal(answer->which_body, duopoly_Envelope_packed_page_tag);
    assert_true(rowpack_init(&pack, duopoly_TaskRow_fields, sizeof(row)));
    for (size_t at = 0, length; at < packed->rows.size; at += length) {
        length = rowpack_take(&pack, packed->rows.bytes + at, packed->rows.size - at, &row);
        assert_true(length > 0);
        row_see(&row);
    }
    assert_int_equal(packed->version, 5);
    return packed->cursor;
}

/* Reads all of it; returns the pages. */
static uint32_t read_all(duopoly_List asked)
{
    uint32_t pages = 0;
    asked.of = duopoly_ListOf_LIST_TASKS;
    seen = list.portions = list.rows_most = list.looks_most = 0;
    do {
        const uint32_t before = list.portions;
        paging_begin(&paging, &asked);
        while (paging_go_on(&paging, NULL))
            ;
        asked.cursor = page_see(&paging.page);
        asked.version = 5;
        assert_true(!asked.limit || in_page <= asked.limit);
        assert_true(list.portions - before <=
                    (asked.packed ? PAGING_PORTIONS_PACKED : PAGING_PORTIONS));
        pages++;
    } while (asked.cursor);
    assert_int_equal(seen, (list.tasks + list.keep - 1) / list.keep);
    assert_true(list.rows_most <= PAGING_ROWS && list.looks_most <= PAGING_LOOKS);
    return pages;
}

/* Whole or filtered, packed or not, with a limit or without. */
static void all_rows_come_once_and_portions_are_small(void **state)
{
    uint64_t stream = test_seed();
    (void)state;
    for (int round = 0; round < 300; round++) {
        memset(&list, 0, sizeof(list));
        list.tasks = (uint32_t)(test_random(&stream) % 5000);
        list.keep = 1 + (uint32_t)(test_random(&stream) % (round % 3 ? 3 : 2000));
        list.text = test_random(&stream) % 2 ? 0 : test_random(&stream) % 128;
        read_all(
            (duopoly_List){.packed = round % 2,
                           .limit = round % 5 ? 0 : 1 + (uint32_t)(test_random(&stream) % 50)});
    }
}

static void a_packed_page_has_many_rows(void **state)
{
    (void)state;
    memset(&list, 0, sizeof(list));
    list.tasks = 100000;
    list.keep = 1;
    const uint32_t plain = read_all((duopoly_List){0}),
                   packed = read_all((duopoly_List){.packed = true});
    assert_int_equal(plain, (list.tasks + 43) / 44);
    assert_true(packed * 10 < plain);
}

static void a_change_between_portions_is_told(void **state)
{
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        memset(&list, 0, sizeof(list));
        list.tasks = 40;
        list.keep = 1;
        list.change_at = 2;
        paging_begin(&paging, &(duopoly_List){.of = duopoly_ListOf_LIST_TASKS, .packed = packed});
        while (paging_go_on(&paging, NULL))
            ;
        assert_true(packed ? paging.page.body.packed_page.changed : paging.page.body.page.changed);
    }
}

/* Its job has gone: at the beginning, or when a part of the page is there. */
static void a_refusal_is_the_answer_or_the_next_one(void **state)
{
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        for (uint32_t at = 1; at <= 2; at++) {
            memset(&list, 0, sizeof(list));
            list.tasks = 40;
            list.keep = 1;
            list.refuse_at = at;
            seen = 0;
            paging_begin(&paging,
                         &(duopoly_List){.of = duopoly_ListOf_LIST_TASKS, .packed = packed});
            while (paging_go_on(&paging, NULL))
                ;
            if (at == 1)
                assert_int_equal(paging.page.which_body, duopoly_Envelope_refused_tag);
            else
                assert_int_equal(page_see(&paging.page), PAGING_ROWS);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows_come_once_and_portions_are_small),
        cmocka_unit_test(a_packed_page_has_many_rows),
        cmocka_unit_test(a_change_between_portions_is_told),
        cmocka_unit_test(a_refusal_is_the_answer_or_the_next_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
