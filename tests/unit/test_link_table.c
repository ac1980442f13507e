#include "tests/unit/test.h"

#include "hostagent/links/link_table.h"

#include <string.h>

#define MS    1000000ull
#define LINKS 3

struct fixture {
    struct link_table *table;
    struct link_counters counters[LINKS];
    uint64_t at_ns;
};

static struct fixture begin(void)
{
    struct fixture f = {.at_ns = 7000 * MS};
    struct err err;
    for (int i = 0; i < LINKS; i++)
        f.counters[i].sent_bytes = 1ull << 50;
    assert_int_equal(link_table_open(LINKS, &f.table, &err), 0);
    assert_false(link_table_add(f.table, f.at_ns, f.counters));
    return f;
}

/* A second, in each tenth of which link 1 sends as many bytes as are given. */
static bool second(struct fixture *f, const uint64_t bytes[10])
{
    bool over = false;
    for (int i = 0; i < 10; i++) {
        assert_false(over);
        f->at_ns += 100 * MS;
        f->counters[1].sent_bytes += bytes[i];
        over = link_table_add(f->table, f->at_ns, f->counters);
    }
    return over;
}

static const uint64_t quiet[10] = {0},
                      even[10] = {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000};

/* How many are to be told; of the last one what. */
static unsigned tell(struct fixture *f, uint32_t *ret_link, struct link_use *ret_use)
{
    uint32_t place = 0;
    unsigned told = 0;
    while (link_table_next(f->table, &place, ret_link, ret_use))
        told++;
    return told;
}

static void test_mean_and_fullest_tenth(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct link_use use;
    uint32_t link;
    static const uint64_t burst[10] = {0, 0, 5000, 0, 0, 0, 0, 0, 5000, 0};
    assert_true(second(&f, burst));
    uint32_t place = 1;
    assert_true(link_table_next(f.table, &place, &link, &use));
    assert_int_equal(link, 1);
    assert_int_equal(use.sent_bps, 80000);
    assert_int_equal(use.sent_peak_bps, 400000);
    assert_int_equal(use.received_bps, 0);
    assert_int_equal(use.received_peak_bps, 0);
    link_table_close(f.table);
}

static void test_only_what_changed_is_told_and_all_again(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct link_use use;
    uint32_t link;
    assert_true(second(&f, quiet));
    assert_int_equal(tell(&f, &link, &use), LINKS);
    for (int i = 0; i < 5; i++) {
        assert_true(second(&f, quiet));
        assert_int_equal(tell(&f, &link, &use), 0);
    }
    assert_true(second(&f, even));
    assert_int_equal(tell(&f, &link, &use), 1);
    assert_int_equal(link, 1);
    assert_int_equal(use.sent_bps, 80000);
    for (int i = 0; i < 5; i++) {
        assert_true(second(&f, even));
        assert_int_equal(tell(&f, &link, &use), 0);
    }
    f.counters[2].dropped = 1;
    assert_true(second(&f, even));
    assert_int_equal(tell(&f, &link, &use), 1);
    assert_int_equal(link, 2);
    assert_int_equal(use.dropped, 1);
    unsigned again = 0;
    for (int i = 0; i < LINK_TABLE_AGAIN; i++) {
        assert_true(second(&f, even));
        again += tell(&f, &link, &use);
    }
    assert_int_equal(again, LINKS);
    link_table_forget(f.table);
    assert_true(second(&f, even));
    assert_int_equal(tell(&f, &link, &use), LINKS);
    link_table_close(f.table);
}

static void test_what_was_not_told_stays_to_be(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct link_use use;
    uint32_t link;
    assert_true(second(&f, quiet));
    assert_int_equal(tell(&f, &link, &use), LINKS);
    assert_true(second(&f, even));
    assert_true(second(&f, even)); /* nobody asked after the first */
    assert_int_equal(tell(&f, &link, &use), 1);
    link_table_close(f.table);
}

static void test_counters_that_fall_and_clocks_that_stand(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct link_use use;
    uint32_t link, place = 1;
    f.counters[1].sent_bytes = 5;
    assert_true(second(&f, quiet));
    assert_true(link_table_next(f.table, &place, &link, &use));
    assert_int_equal(use.sent_bps, 0);
    assert_int_equal(use.sent_peak_bps, 0);
    for (int i = 0; i < 20; i++)
        assert_false(link_table_add(f.table, f.at_ns, f.counters));
    link_table_close(f.table);
}

/* Of link 1 after so many seconds of `bytes`. */
static uint64_t ceiling_after(struct fixture *f, int seconds, const uint64_t bytes[10])
{
    struct link_use use = {0};
    uint32_t link, place;
    for (int i = 0; i < seconds; i++) {
        assert_true(second(f, bytes));
        link_table_forget(f->table);
        place = 1;
        assert_true(link_table_next(f->table, &place, &link, &use));
    }
    assert_int_equal(use.received_ceiling_bps, 0);
    return use.sent_ceiling_bps;
}

static const uint64_t uneven[10] = {1000, 0, 1000, 0, 500, 0, 1000, 0, 300, 0},
                      faster[10] = {0, 0, 3000, 0, 0, 0, 0, 0, 0, 0},
                      slower[10] = {200, 200, 200, 200, 200, 200, 200, 200, 200, 200},
                      chatter[10] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9};

/* 80 kbit/s of 800: pauses and seconds that were not full do not count. */
static void test_a_figure_that_is_never_exceeded_is_a_ceiling(void **state)
{
    (void)state;
    struct fixture f = begin();
    link_table_rate(f.table, 1, 800000);
    assert_int_equal(ceiling_after(&f, LINK_TABLE_CEILING / 2, even), 0);
    assert_int_equal(ceiling_after(&f, 30, quiet), 0);
    assert_int_equal(ceiling_after(&f, 30, chatter), 0);
    assert_int_equal(ceiling_after(&f, 30, uneven), 0);
    assert_int_equal(ceiling_after(&f, LINK_TABLE_CEILING - LINK_TABLE_CEILING / 2 - 1, even), 0);
    assert_int_equal(ceiling_after(&f, 1, even), 80000);
    assert_int_equal(ceiling_after(&f, 100, quiet), 80000);
    assert_int_equal(ceiling_after(&f, 1, faster), 0);
    assert_int_equal(ceiling_after(&f, LINK_TABLE_CEILING - 1, even), 0);
    assert_int_equal(ceiling_after(&f, 1, even), 80000);
    assert_int_equal(ceiling_after(&f, LINK_TABLE_CEILING - 1, slower), 0);
    assert_int_equal(ceiling_after(&f, 1, slower), 16000);
    link_table_close(f.table);
}

static void test_a_link_that_is_half_as_fast_as_its_rate_has_no_ceiling(void **state)
{
    (void)state;
    struct fixture f = begin();
    assert_int_equal(ceiling_after(&f, 2 * LINK_TABLE_CEILING, even), 0); /* no rate is known */
    link_table_rate(f.table, 1, 160000);
    assert_int_equal(ceiling_after(&f, 2 * LINK_TABLE_CEILING, even), 0);
    link_table_rate(f.table, 1, 161000);
    assert_int_equal(ceiling_after(&f, 1, even), 80000);
    link_table_close(f.table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mean_and_fullest_tenth),
        cmocka_unit_test(test_only_what_changed_is_told_and_all_again),
        cmocka_unit_test(test_what_was_not_told_stays_to_be),
        cmocka_unit_test(test_counters_that_fall_and_clocks_that_stand),
        cmocka_unit_test(test_a_figure_that_is_never_exceeded_is_a_ceiling),
        cmocka_unit_test(test_a_link_that_is_half_as_fast_as_its_rate_has_no_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
