#include "hostagent/marks/probe_judge.h"
#include "tests/unit/test.h"

static void counts_at_once_and_misses_in_a_row(void **state)
{
    struct probe_judge judge = {0};
    (void)state;
    assert_int_equal(judge.verdict, PROBE_UNKNOWN);
    for (int i = 0; i < PROBE_MISSES - 1; i++)
        assert_false(probe_judge(&judge, PROBE_MISSED));
    assert_true(probe_judge(&judge, PROBE_COUNTED));
    assert_int_equal(judge.verdict, PROBE_RUNS);
    for (int i = 0; i < PROBE_MISSES - 1; i++)
        assert_false(probe_judge(&judge, PROBE_MISSED));
    assert_true(probe_judge(&judge, PROBE_MISSED));
    assert_int_equal(judge.verdict, PROBE_PASSED_BY);
    assert_false(probe_judge(&judge, PROBE_MISSED));
    assert_true(probe_judge(&judge, PROBE_COUNTED));
    assert_int_equal(judge.verdict, PROBE_RUNS);
}

static void what_proves_nothing_changes_nothing(void **state)
{
    struct probe_judge judge = {0};
    (void)state;
    for (int i = 0; i < PROBE_MISSES; i++) {
        assert_false(probe_judge(&judge, PROBE_NOTHING));
        bool last = i == PROBE_MISSES - 1;
        assert_int_equal(probe_judge(&judge, PROBE_MISSED), last);
    }
    for (int i = 0; i < 2 * PROBE_MISSES; i++)
        assert_false(probe_judge(&judge, PROBE_NOTHING));
    assert_int_equal(judge.verdict, PROBE_PASSED_BY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_at_once_and_misses_in_a_row),
        cmocka_unit_test(what_proves_nothing_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
