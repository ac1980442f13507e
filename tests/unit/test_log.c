#include "tests/unit/test.h"

#include "lib/log.h"

static void limit_counts_what_it_leaves_out(void **state)
{
    (void)state;
    struct log_limit limit = {0};
    uint32_t left_out;
    for (int i = 0; i < LOG_BURST; i++)
        assert_true(log_limit_admit(&limit, "a", 1000, &left_out));
    for (int i = 0; i < 3; i++)
        assert_false(log_limit_admit(&limit, "a", 1000 + LOG_WINDOW_MS - 1, &left_out));
    assert_true(log_limit_admit(&limit, "b", 1000, &left_out));
    assert_int_equal(left_out, 0);
    assert_true(log_limit_admit(&limit, "a", 1000 + LOG_WINDOW_MS, &left_out));
    assert_int_equal(left_out, 3);
    assert_true(log_limit_admit(&limit, "a", 1000 + LOG_WINDOW_MS, &left_out));
    assert_int_equal(left_out, 0);
}

/* However many places speak, none gets more than its burst in a window once it is remembered, and
 * none is silenced. */
static void limit_survives_many_places(void **state)
{
    (void)state;
    struct log_limit limit = {0};
    static char places[LOG_PLACES * 4];
    uint32_t left_out;
    for (int i = 0; i < LOG_PLACES * 4; i++)
        assert_true(log_limit_admit(&limit, &places[i], (uint64_t)i, &left_out));
    for (int i = 1; i < LOG_BURST; i++)
        assert_true(
            log_limit_admit(&limit, &places[LOG_PLACES * 4 - 1], LOG_PLACES * 4, &left_out));
    assert_false(log_limit_admit(&limit, &places[LOG_PLACES * 4 - 1], LOG_PLACES * 4, &left_out));
}

/* Who floods takes his own part of a line; all peers together have an end, too. */
static void a_peer_silences_no_other(void **state)
{
    (void)state;
    static struct log_limit limit;
    uint32_t left_out, admitted = 0;
    char name[16];
    for (int i = 0; i < 1000; i++)
        admitted += log_limit_admit_of(&limit, "a", "mallory", 1000, &left_out);
    assert_int_equal(admitted, LOG_BURST);
    assert_true(log_limit_admit_of(&limit, "a", "ann", 1000, &left_out));
    assert_int_equal(left_out, 0);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "key %d", i % 100);
        admitted += log_limit_admit_of(&limit, "a", name, 1000, &left_out);
    }
    assert_int_equal(admitted, LOG_BURST * LOG_PEERS - 1);
    assert_true(log_limit_admit_of(&limit, "a", "mallory", 1000 + LOG_WINDOW_MS, &left_out));
    assert_int_equal(left_out, 990);
}

/* Debug lines are asked for: there may be many, and there is an end to them, too. */
static void debug_lines_have_a_bound_of_their_own(void **state)
{
    (void)state;
    static struct log_limit limit;
    uint32_t left_out, admitted = 0;
    for (int i = 0; i < 2 * LOG_DEBUG_BURST; i++)
        admitted += log_limit_admit_debug(&limit, "a", 1000, &left_out);
    assert_int_equal(admitted, LOG_DEBUG_BURST);
}

static void everything_is_printed_until_it_is_taken_back(void **state)
{
    (void)state;
    for (enum log_level opened = LOG_LEVEL_ERROR; opened <= LOG_LEVEL_DEBUG; opened++) {
        log_open("test", opened);
        log_everything(true);
        assert_true(log_is_wanted(LOG_LEVEL_DEBUG));
        log_everything(false);
        for (enum log_level level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++)
            assert_int_equal(log_is_wanted(level), level <= opened);
    }
    log_open("test", LOG_LEVEL_NOTE);
}

static void levels_have_names(void **state)
{
    (void)state;
    for (enum log_level level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++)
        assert_non_null(log_levels[level]);
    assert_null(log_levels[LOG_LEVEL_DEBUG + 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_counts_what_it_leaves_out),
        cmocka_unit_test(limit_survives_many_places),
        cmocka_unit_test(a_peer_silences_no_other),
        cmocka_unit_test(debug_lines_have_a_bound_of_their_own),
        cmocka_unit_test(everything_is_printed_until_it_is_taken_back),
        cmocka_unit_test(levels_have_names),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
