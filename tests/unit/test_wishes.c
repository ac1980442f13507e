/* Wishes of a stage: what a host is worth, in dumps too, and which the engine refuses. */
#include "tests/model/script.h"

#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/wishes.h"

static void join(struct script *s, uint32_t host, const char *labels)
{
    static const uint64_t vector[ENGINE_RESOURCES] = {2};
    struct event event = script_join(host, 2, vector);
    event.host_join.labels = labels;
    script_event(s, event);
}

static enum reason stage(struct script *s, const char *wishes, uint32_t n,
                         const uint32_t *utilities)
{
    struct event event = script_stage_event(1, 0, 1, NULL, NULL);
    event.job_stage.wishes = wishes;
    event.job_stage.utilities = (struct u32s){utilities, n};
    script_event(s, event);
    return script_rejection(s);
}

static uint64_t worth(const struct script *s, uint32_t host)
{
    return wishes_utility(job_find_task(s->engine, 1, 0, 0)->stage, cluster_host(s->engine, host));
}

static void test_what_a_host_is_worth(void **state)
{
    (void)state;
    static const uint32_t utilities[] = {3, 40, 500};
    struct script s;
    struct engine_config config = script_config();
    script_begin(&s, &config);
    s.reload = true;
    join(&s, 0, "");
    join(&s, 1, "gpu");
    join(&s, 2, "gpu,spot");
    script_job_begin(&s, 1);
    assert_int_equal(stage(&s, "gpu\ngpu & !spot\nhost=h0", 3, utilities), REASON_NONE);
    script_tasks(&s, 1, 0, 1, 0, 0, NULL);
    script_job_end(&s, 1);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    assert_int_equal(script_job_view(&s, 1).running, 1);
    assert_int_equal(worth(&s, 0), 500);
    assert_int_equal(worth(&s, 1), 43);
    assert_int_equal(worth(&s, 2), 3);
    script_end(&s);
}

static void test_wrong_ones_are_rejected(void **state)
{
    (void)state;
    static const uint32_t utilities[] = {1, 2, 3, 4, 5}, wrong[] = {0, ENGINE_UTILITY_MAX + 1};
    struct script s;
    struct engine_config config = script_config();
    script_begin(&s, &config);
    join(&s, 0, "");
    script_job_begin(&s, 1);
    assert_int_equal(stage(&s, "a", 0, utilities), REASON_BAD_VALUE);
    assert_int_equal(stage(&s, "a", 2, utilities), REASON_BAD_VALUE);
    assert_int_equal(stage(&s, NULL, 1, utilities), REASON_BAD_VALUE);
    assert_int_equal(stage(&s, "a\n\nb", 3, utilities), REASON_BAD_VALUE);
    assert_int_equal(stage(&s, "a\nb\nc\nd\ne", 5, utilities), REASON_BAD_VALUE);
    assert_int_equal(stage(&s, "a", 1, &wrong[0]), REASON_BAD_VALUE);
    assert_int_equal(stage(&s, "a", 1, &wrong[1]), REASON_BAD_VALUE);
    assert_int_equal(stage(&s, "a\nb", 2, utilities), REASON_NONE);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_host_is_worth),
        cmocka_unit_test(test_wrong_ones_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
