/* Cursors into lists that change between two pages, and cursors that nobody was given. */
#include "tests/unit/test.h"

#include "controller/clients/listing_place.h"

struct list {
    uint64_t *is;
    uint32_t n, *looks;
};

static bool at(const void *user, uint32_t place, uint64_t *ret_identity)
{
    const struct list *list = user;
    (*list->looks)++;
    if (place >= list->n)
        return false;
    *ret_identity = list->is ? list->is[place] : place + 1000;
    return true;
}

/* Where the page goes on in `after` for a cursor to place 2, row 7, of `before`; row: *ret_row. */
static uint32_t resumed(struct list before, struct list after, uint32_t *ret_row)
{
    const struct listing_order old = {at, &before}, new = {at, &after};
    return listing_resume(&new, listing_cursor(&old, 2, 7), ret_row);
}

static void test_who_stood_there_is_found_again(void **state)
{
    (void)state;
    uint64_t before[] = {1, 2, 3, 4}, more[] = {9, 8, 1, 2, 3, 4}, fewer[] = {3, 4},
             without[] = {1, 2, 4}, last[] = {1};
    uint32_t looks = 0, row = 0;
#define LIST(array) ((struct list){array, sizeof(array) / sizeof(array[0]), &looks})
    assert_int_equal(resumed(LIST(before), LIST(before), &row), 2);
    assert_int_equal(row, 7);
    assert_int_equal(resumed(LIST(before), LIST(more), &row), 4);
    assert_int_equal(row, 7);
    assert_int_equal(resumed(LIST(before), LIST(fewer), &row), 0);
    assert_int_equal(row, 7);
    assert_int_equal(resumed(LIST(before), LIST(without), &row), 2);
    assert_int_equal(row, 0);
    assert_int_equal(resumed(LIST(before), LIST(last), &row), 1);
    assert_int_equal(row, 0);
}

static void test_the_first_page_has_no_cursor(void **state)
{
    (void)state;
    uint32_t looks = 0, row = 1;
    struct list list = {NULL, 3, &looks};
    const struct listing_order order = {at, &list};
    assert_int_equal(listing_resume(&order, 0, &row), 0);
    assert_int_equal(row, 0);
    assert_int_equal(looks, 0);
}

static void test_any_cursor_costs_little(void **state)
{
    (void)state;
    const uint64_t cursors[] = {1,          UINT32_MAX,     UINT64_C(1) << 32,
                                UINT64_MAX, UINT64_MAX - 1, UINT64_MAX >> 1};
    const uint32_t sizes[] = {0, 1, 5, 100000, 1 << 20};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t k = 0; k < sizeof(cursors) / sizeof(cursors[0]); k++) {
            uint32_t looks = 0, row;
            struct list list = {NULL, sizes[i], &looks};
            const struct listing_order order = {at, &list};
            assert_true(listing_resume(&order, cursors[k], &row) <= sizes[i]);
            assert_true(looks <= 2 * (LISTING_AWAY + 1) + 22);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_stood_there_is_found_again),
        cmocka_unit_test(test_the_first_page_has_no_cursor),
        cmocka_unit_test(test_any_cursor_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
