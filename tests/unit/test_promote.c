/* What a change of levels or mode promotes: the named cases, then against the definition. */
#include "tests/unit/test.h"

#include "hostagent/marks/promote.h"

#include <string.h>

#define TASKS 40

struct told {
    uint32_t n;
    struct promote_task tasks[TASKS];
};

static void on_promoted(void *user, const struct promote_task *task)
{
    struct told *told = user;
    assert_true(told->n < TASKS);
    told->tasks[told->n++] = *task;
}

static bool set(struct promote *promote, uint64_t cgroup, uint8_t coflow, uint8_t macroflow,
                uint8_t *ret_level)
{
    const struct mark_task_levels levels = {
        .cgroup = cgroup, .coflow = coflow, .macroflow = macroflow};
    struct promote_task task = {.level = 99};
    bool promoted = promote_set(promote, &levels, &task);
    assert_int_equal(task.cgroup, promoted ? cgroup : 0);
    *ret_level = task.level;
    return promoted;
}

static void test_levels(void **state)
{
    (void)state;
    struct promote *promote;
    uint8_t level;
    assert_int_equal(promote_create(0, &promote), 0);
    assert_false(set(promote, 11, 3, 0, &level)); /* new: nothing to wake */
    assert_false(set(promote, 11, 3, 0, &level));
    assert_false(set(promote, 11, 4, 0, &level)); /* demoted */
    assert_false(set(promote, 11, 4, 7, &level)); /* the other mode's level */
    assert_true(set(promote, 11, 2, 7, &level));
    assert_int_equal(level, 2);
    assert_false(set(promote, 11, MARK_UNMARKED, 7, &level));
    assert_true(set(promote, 11, 7, 7, &level)); /* no mark is less urgent than the last level */
    promote_forget(promote, 11);
    promote_forget(promote, 11);
    assert_false(set(promote, 11, 0, 0, &level));
    promote_destroy(promote);
    promote_destroy(NULL);
}

static void test_mode(void **state)
{
    (void)state;
    struct promote *promote;
    struct told told = {0};
    uint8_t level;
    assert_int_equal(promote_create(0, &promote), 0);
    set(promote, 11, 4, 0, &level);
    set(promote, 12, 0, 7, &level);
    set(promote, 13, 4, 4, &level);
    set(promote, 14, MARK_UNMARKED, 5, &level);
    promote_set_mode(promote, 0, on_promoted, &told);
    assert_int_equal(told.n, 0);
    promote_set_mode(promote, 1, on_promoted, &told);
    assert_int_equal(told.n, 2);
    assert_int_equal(told.tasks[0].cgroup, 11);
    assert_int_equal(told.tasks[0].level, 0);
    assert_int_equal(told.tasks[1].cgroup, 14);
    assert_int_equal(told.tasks[1].level, 5);
    told.n = 0;
    promote_set_mode(promote, 0, on_promoted, &told);
    assert_int_equal(told.n, 1);
    assert_int_equal(told.tasks[0].cgroup, 12);
    promote_destroy(promote);
}

static uint8_t draw_level(uint64_t *stream)
{
    uint64_t drawn = test_random(stream) % 9;
    return drawn < MARK_LEVELS ? (uint8_t)drawn : MARK_UNMARKED;
}

/* A task is told when, and only when, its level in force has become a smaller number. */
static void test_against_the_definition(void **state)
{
    (void)state;
    struct promote *promote;
    uint64_t stream = test_seed();
    uint8_t known[TASKS], levels[TASKS][2], level;
    uint32_t mode = 1;
    memset(known, 0, sizeof(known));
    assert_int_equal(promote_create(mode, &promote), 0);
    for (int step = 0; step < 20000; step++) {
        uint64_t i = test_random(&stream) % TASKS, what = test_random(&stream) % 8;
        if (what == 0) {
            struct told told = {0};
            uint32_t before = mode, expected = 0;
            mode = (uint32_t)(test_random(&stream) % 2);
            for (int k = 0; k < TASKS; k++)
                expected += known[k] && levels[k][mode] < levels[k][before];
            promote_set_mode(promote, mode, on_promoted, &told);
            assert_int_equal(told.n, expected);
            for (uint32_t k = 0; k < told.n; k++)
                assert_int_equal(told.tasks[k].level, levels[told.tasks[k].cgroup - 1][mode]);
        } else if (what == 1) {
            promote_forget(promote, i + 1);
            known[i] = 0;
        } else {
            uint8_t now[2] = {draw_level(&stream), draw_level(&stream)};
            bool expected = known[i] && now[mode] < levels[i][mode];
            assert_int_equal(set(promote, i + 1, now[0], now[1], &level), expected);
            if (expected)
                assert_int_equal(level, now[mode]);
            memcpy(levels[i], now, sizeof(now));
            known[i] = 1;
        }
    }
    promote_destroy(promote);
}

static void test_more_than_fit(void **state)
{
    (void)state;
    struct promote *promote;
    uint8_t level;
    assert_int_equal(promote_create(0, &promote), 0);
    for (uint64_t i = 0; i <= MARK_TASKS; i++)
        assert_false(set(promote, i + 1, 5, 5, &level));
    assert_true(set(promote, MARK_TASKS, 4, 4, &level));
    assert_false(set(promote, MARK_TASKS + 1, 4, 4, &level)); /* stayed unknown */
    promote_forget(promote, 1);
    assert_false(set(promote, MARK_TASKS + 1, 4, 4, &level));
    assert_true(set(promote, MARK_TASKS + 1, 3, 3, &level));
    promote_destroy(promote);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels), cmocka_unit_test(test_mode),
                                       cmocka_unit_test(test_against_the_definition),
                                       cmocka_unit_test(test_more_than_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
