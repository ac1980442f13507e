/* What is learnt of tasks: the estimators by hand and under any numbers, their bounds, and how they
 * correct a profile. */
#include "tests/unit/test.h"

#include "controller/learnt.h"

#define SECOND UINT64_C(1000000000)
#define MB     UINT64_C(1000000)

static struct learnt_estimate find(const struct learnt *learnt, uint64_t history, uint32_t variant)
{
    struct learnt_estimate estimate = {0};
    assert_true(learnt_find(learnt, history, variant, &estimate));
    return estimate;
}

/* A task that read before it computed. */
static void see(struct learnt *learnt, uint64_t mb, uint64_t mb_s, uint64_t computing_s)
{
    const uint64_t reading_ns = mb * SECOND / mb_s;
    const struct learnt_seen seen = {.total_ns = reading_ns + computing_s * SECOND,
                                     .before = true,
                                     .counted = true,
                                     .read_bytes = mb * MB,
                                     .read_bytes_s = mb_s * MB,
                                     .reading_ns = reading_ns};
    learnt_see(learnt, 7, 1, &seen);
}

static void test_one_task_is_enough(void **state)
{
    (void)state;
    struct learnt *learnt = learnt_create();
    struct learnt_estimate e;
    assert_false(learnt_find(learnt, 7, 1, &e));
    assert_false(learnt_find(learnt, 0, 0, &e));
    see(learnt, 1000, 125, 2);
    e = find(learnt, 7, 1);
    assert_true(e.profile.read_bytes == 1000 * MB && e.profile.read_bytes_s == 125 * MB);
    assert_true(e.profile.before == 1 && e.profile.compute_ns == 2 * SECOND);
    assert_true(e.tasks == 1 && e.error_permille == 0);
    assert_false(learnt_find(learnt, 7, 0, &e));
    assert_false(learnt_find(learnt, 8, 1, &e));
    learnt_destroy(learnt);
}

/* A mean of the first eight; then an odd one moves it by an eighth of the difference. */
static void test_means(void **state)
{
    (void)state;
    struct learnt *learnt = learnt_create();
    for (uint64_t i = 1; i <= 8; i++)
        see(learnt, 100 * i, 100, 1);
    assert_true(find(learnt, 7, 1).profile.read_bytes / MB == 450);
    for (int i = 0; i < 100; i++)
        see(learnt, 450, 100, 1);
    see(learnt, 1250, 100, 9);
    const struct learnt_estimate e = find(learnt, 7, 1);
    assert_int_equal(e.profile.read_bytes / (10 * MB), 55);
    assert_int_equal(e.profile.compute_ns / (SECOND / 10), 20);
    assert_int_equal(e.tasks, 109);
    learnt_destroy(learnt);
}

/* Others can only have slowed it. */
static void test_the_rate_is_that_of_a_lone_task(void **state)
{
    (void)state;
    struct learnt *learnt = learnt_create();
    see(learnt, 100, 50, 1);
    see(learnt, 100, 100, 1);
    assert_true(find(learnt, 7, 1).profile.read_bytes_s == 100 * MB);
    see(learnt, 100, 20, 1);
    assert_true(find(learnt, 7, 1).profile.read_bytes_s == 95 * MB);
    learnt_destroy(learnt);
}

/* How far the lone time was off, before the task was taken in. */
static void test_the_error(void **state)
{
    (void)state;
    struct learnt *learnt = learnt_create();
    see(learnt, 100, 100, 3); /* 4 s */
    see(learnt, 100, 100, 4); /* 5 s: 1 s off */
    assert_int_equal(find(learnt, 7, 1).error_permille, 200);
    for (int i = 0; i < 200; i++)
        see(learnt, 100, 100, 4);
    assert_true(find(learnt, 7, 1).error_permille < 10);
    const struct learnt_seen at_once = {.before = true};
    learnt_see(learnt, 7, 1, &at_once);
    assert_true(find(learnt, 7, 1).error_permille >= LEARNT_ERROR_MAX / LEARNT_TASKS);
    learnt_destroy(learnt);
}

/* An agent that may not look: time alone is learnt. */
static void test_nobody_counted(void **state)
{
    (void)state;
    struct learnt *learnt = learnt_create();
    const struct learnt_seen seen = {.total_ns = 5 * SECOND};
    learnt_see(learnt, 7, 0, &seen);
    const struct learnt_estimate e = find(learnt, 7, 0);
    assert_true(!e.profile.read_bytes && e.profile.compute_ns == 5 * SECOND);
    learnt_destroy(learnt);
}

static void test_a_profile_is_corrected_upwards(void **state)
{
    (void)state;
    const struct learnt_estimate e = {.profile = {200 * MB, 50 * MB, 0, 10 * SECOND}, .tasks = 1};
    struct profile none = {0}, less = {100 * MB, 100 * MB, 0, 2 * SECOND},
                   more = {300 * MB, 100 * MB, 1, SECOND}, tight = {50 * MB, 50 * MB, 0, SECOND};
    learnt_correct(&e, &none);
    assert_memory_equal(&none, &e.profile, sizeof(none));
    learnt_correct(&e, &less);
    assert_true(less.read_bytes == 200 * MB && less.read_bytes_s == 100 * MB);
    assert_true(less.compute_ns == 2 * SECOND);
    learnt_correct(&e, &more);
    assert_true(more.read_bytes == 300 * MB && more.read_bytes_s == 100 * MB && more.before);
    learnt_correct(&e, &tight); /* more reading than it lasts: it lasts longer */
    assert_true(tight.read_bytes == 200 * MB && tight.compute_ns == 4 * SECOND);
}

static void test_the_oldest_goes(void **state)
{
    (void)state;
    struct learnt *learnt = learnt_create();
    struct learnt_estimate e;
    const struct learnt_seen seen = {.total_ns = SECOND};
    for (uint32_t i = 1; i <= LEARNT_MAX; i++)
        learnt_see(learnt, i, 0, &seen);
    learnt_see(learnt, 1, 0, &seen);
    learnt_see(learnt, LEARNT_MAX + 1, 0, &seen);
    assert_true(learnt_find(learnt, 1, 0, &e));
    assert_false(learnt_find(learnt, 2, 0, &e));
    assert_true(learnt_find(learnt, 3, 0, &e) && learnt_find(learnt, LEARNT_MAX + 1, 0, &e));
    learnt_destroy(learnt);
    learnt_destroy(NULL);
}

static void test_what_was_kept(void **state)
{
    (void)state;
    struct learnt *learnt = learnt_create();
    struct learnt_estimate e = {{64 * MB, 32 * MB, 1, SECOND}, 9, 120}, back;
    assert_true(learnt_restore(learnt, 5, 2, &e));
    back = find(learnt, 5, 2);
    assert_memory_equal(&back, &e, sizeof(e));
    e.profile.read_bytes_s = 0;
    assert_false(learnt_restore(learnt, 5, 3, &e));
    e = (struct learnt_estimate){.profile.compute_ns = SECOND};
    assert_false(learnt_restore(learnt, 5, 3, &e)); /* of no task */
    e.tasks = 1;
    assert_false(learnt_restore(learnt, 0, 3, &e));
    e.error_permille = LEARNT_ERROR_MAX + 1;
    assert_false(learnt_restore(learnt, 5, 3, &e));
    learnt_destroy(learnt);
}

/* Whatever agents say, an estimate is a profile, and so is one that it corrects. */
static void test_any_numbers(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    struct learnt *learnt = learnt_create();
    for (int i = 0; i < 200000; i++) {
        struct learnt_seen seen = {.total_ns = test_random(&stream) >> (test_random(&stream) % 64),
                                   .before = test_random(&stream) % 2,
                                   .counted = test_random(&stream) % 4};
        seen.read_bytes = test_random(&stream) >> (test_random(&stream) % 64);
        seen.read_bytes_s = test_random(&stream) >> (test_random(&stream) % 64);
        seen.reading_ns = test_random(&stream) >> (test_random(&stream) % 64);
        uint64_t history = 1 + test_random(&stream) % 20;
        learnt_see(learnt, history, 0, &seen);
        const struct learnt_estimate e = find(learnt, history, 0);
        assert_int_equal(profile_check(&e.profile, NULL), 0);
        assert_true(e.tasks && e.error_permille <= LEARNT_ERROR_MAX);
        struct profile p = {test_random(&stream) >> 11, 1 + (test_random(&stream) >> 8),
                            test_random(&stream) % 2, test_random(&stream) >> 2};
        if (profile_check(&p, NULL) < 0)
            continue;
        learnt_correct(&e, &p);
        assert_int_equal(profile_check(&p, NULL), 0);
    }
    learnt_destroy(learnt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_task_is_enough),
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_the_rate_is_that_of_a_lone_task),
        cmocka_unit_test(test_the_error),
        cmocka_unit_test(test_nobody_counted),
        cmocka_unit_test(test_a_profile_is_corrected_upwards),
        cmocka_unit_test(test_the_oldest_goes),
        cmocka_unit_test(test_what_was_kept),
        cmocka_unit_test(test_any_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
