/* controller/frameworks/stage_names.h: what is kept, for how long, and how much of it. */
#include "tests/unit/test.h"

#include "controller/frameworks/stage_names.h"

static void the_later_words_count(void **state)
{
    struct stage_names names = {0};
    (void)state;
    assert_null(stage_names_find(&names, 7, 1));
    stage_names_put(&names, 7, 1, 12, 0, "map");
    stage_names_put(&names, 7, 1, 12, 3, "map again");
    assert_int_equal(names.n, 1);
    assert_int_equal(stage_names_find(&names, 7, 1)->attempt, 3);
    assert_string_equal(stage_names_find(&names, 7, 1)->text, "map again");
    assert_null(stage_names_find(&names, 7, 2));
    stage_names_clear(&names);
    assert_int_equal(names.n, 0);
}

static void a_job_takes_its_own_with_it(void **state)
{
    struct stage_names names = {0};
    (void)state;
    for (uint64_t job = 1; job <= 3; job++)
        for (uint32_t stage = 0; stage < 5; stage++)
            stage_names_put(&names, job, stage, (uint32_t)job * 10 + stage, 0, "s");
    stage_names_forget(&names, 2);
    stage_names_forget(&names, 9);
    assert_int_equal(names.n, 10);
    assert_null(stage_names_find(&names, 2, 0));
    assert_int_equal(stage_names_find(&names, 1, 4)->id, 14);
    assert_int_equal(stage_names_find(&names, 3, 0)->id, 30);
    stage_names_clear(&names);
}

static void there_is_an_end_to_it(void **state)
{
    struct stage_names names = {0};
    (void)state;
    for (uint32_t stage = 0; stage < STAGE_NAMES_MAX + 10; stage++)
        stage_names_put(&names, 1, stage, stage, 0, "s");
    assert_int_equal(names.n, STAGE_NAMES_MAX);
    assert_null(stage_names_find(&names, 1, STAGE_NAMES_MAX));
    stage_names_put(&names, 1, 5, 6, 0, "s");
    assert_int_equal(stage_names_find(&names, 1, 5)->id, 6);
    stage_names_forget(&names, 1);
    assert_int_equal(names.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_later_words_count),
        cmocka_unit_test(a_job_takes_its_own_with_it),
        cmocka_unit_test(there_is_an_end_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
