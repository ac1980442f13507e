/* Tasks whose outputs are lost again and again; each step also from a dump. */
#include "tests/model/script_dump.h"

#include <errno.h>

enum { SLOTS = 64 };

static void begin_hosts(struct script *s, const struct engine_config *config, uint32_t hosts)
{
    static const uint64_t sums[] = {3000000, 1000000};
    script_begin(s, config);
    s->reload = true;
    for (uint32_t h = 0; h < hosts; h++)
        script_host(s, h, SLOTS);
    struct script_job job = {1, 2, 0, 2, NULL, 0, SECOND, SECOND, sums, -1};
    script_submit(s, &job);
}

static void begin(struct script *s, uint32_t reruns_max, uint32_t hosts)
{
    struct engine_config config = script_config();
    config.reruns_max = reruns_max;
    begin_hosts(s, &config, hosts);
}

static void map_end(struct script *s, uint32_t map)
{
    script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, 1, 0, map), 0);
}

static void output_lose(struct script *s, uint32_t map)
{
    script_output_lost(s, 1, map, script_attempt_of(s, 1, 0, map));
}

static uint32_t host_of(const struct script *s, uint32_t map)
{
    struct task_view task;
    assert_int_equal(engine_task(s->engine, 1, 0, map, &task), 0);
    return task.host;
}

/* Each map may lose it three times where one host only could hold it; the fourth time ends the job,
 * and says of which. */
static void outputs_lost_too_often_fail_the_job(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 4, 1);
    map_end(&s, 0);
    map_end(&s, 1);
    for (uint32_t times = 0; times < 3; times++)
        for (uint32_t map = 0; map < 2; map++) {
            output_lose(&s, map);
            assert_int_equal(script_count(&s, DECISION_JOB_FAILED), 0);
            assert_int_equal(script_task_state(&s, 1, 0, map), TASK_RUNNING);
            map_end(&s, map);
        }
    output_lose(&s, 1);
    const struct decision *failed = script_decision(&s, DECISION_JOB_FAILED, 0);
    assert_non_null(failed);
    assert_int_equal(failed->reason, REASON_TOO_MANY_RERUNS);
    assert_string_equal(reason_name(failed->reason), "too-many-reruns");
    assert_int_equal(failed->left, 4);
    assert_true(failed->job_failed.stage == 0 && failed->job_failed.task == 1);
    assert_true(failed->job_failed.attempt > 0);
    script_end(&s);
}

/* Wherever it runs nobody can read what it leaves: the fourth host that says so ends the job. */
static void each_host_counts_once(void **state)
{
    struct script s;
    uint32_t hosts = 0;
    (void)state;
    begin(&s, 4, 6);
    map_end(&s, 1);
    for (int times = 0; times < 20 && !script_count(&s, DECISION_JOB_FAILED); times++) {
        hosts |= 1u << host_of(&s, 0);
        map_end(&s, 0);
        output_lose(&s, 0);
    }
    assert_int_equal(script_decision(&s, DECISION_JOB_FAILED, 0)->left, 4);
    assert_int_equal(__builtin_popcount(hosts), 4);
    script_end(&s);
}

static bool runs_on_0(struct script *s)
{
    if (script_task_state(s, 1, 0, 0) != TASK_RUNNING) { /* it waits for another host */
        s->now_ns += 30 * SECOND;
        script_events(s, NULL, 0);
    }
    assert_int_equal(script_task_state(s, 1, 0, 0), TASK_RUNNING);
    return host_of(s, 0) == 0;
}

/* Host 0 ends at once what it is given and serves nothing, and the other one is full. */
static void a_host_that_serves_nothing_fails_no_job_alone(void **state)
{
    struct script s;
    struct engine_config config = script_config();
    struct task_view other;
    (void)state;
    script_begin(&s, &config);
    s.reload = true;
    script_host(&s, 1, 1);
    script_submit(&s, &(struct script_job){2, 1, 0, 0, NULL, 0, SECOND, SECOND, NULL, -1});
    assert_int_equal(engine_task(s.engine, 2, 0, 0, &other), 0);
    script_host(&s, 0, SLOTS);
    static const uint64_t sums[] = {3000000};
    script_submit(&s, &(struct script_job){1, 1, 0, 1, NULL, 0, SECOND, SECOND, sums, -1});
    for (int times = 0; times < 20; times++) {
        assert_true(runs_on_0(&s));
        map_end(&s, 0);
        output_lose(&s, 0);
        assert_int_equal(script_count(&s, DECISION_JOB_FAILED), 0);
    }
    script_attempt(&s, EVENT_ATTEMPT_DONE, other.attempt, 0);
    assert_false(runs_on_0(&s));
    map_end(&s, 0);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 1, 0), 0);
    assert_int_equal(script_count(&s, DECISION_JOB_DONE), 1);
    script_end(&s);
}

/* A dump of a later program may follow rules that this one does not know. */
static void rules_that_nobody_knows_are_refused(void **state)
{
    struct engine_config config = script_config();
    struct engine *engine;
    struct err err = {0};
    (void)state;
    config.rules = ENGINE_RULES + 1;
    assert_int_equal(engine_create(&config, &engine, &err), -EINVAL);
    assert_non_null(strstr(err.text, "rules"));
}

/* As in logs of before. */
static void each_loss_counts_without_the_rule(void **state)
{
    struct script s;
    struct engine_config config = script_config();
    (void)state;
    config.rules = 0;
    begin_hosts(&s, &config, 3);
    map_end(&s, 1);
    for (uint32_t times = 0; times < 4; times++) {
        assert_int_equal(script_count(&s, DECISION_JOB_FAILED), 0);
        map_end(&s, 0);
        output_lose(&s, 0);
    }
    assert_int_equal(script_count(&s, DECISION_JOB_FAILED), 1);
    script_end(&s);
}

/* As in logs of before. */
static void without_a_bound_they_run_again_for_ever(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 0, 3);
    map_end(&s, 0);
    map_end(&s, 1);
    for (uint32_t times = 0; times < 50; times++) {
        output_lose(&s, 0);
        assert_int_equal(script_task_state(&s, 1, 0, 0), TASK_RUNNING);
        map_end(&s, 0);
    }
    script_end(&s);
}

/* A host that crashes takes outputs with it: however often, that is no fault of theirs. */
static void what_a_lost_host_takes_does_not_count(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 2, 3);
    for (uint32_t times = 0; times < 8; times++) {
        map_end(&s, 0);
        struct task_view task;
        assert_int_equal(engine_task(s.engine, 1, 0, 0, &task), 0);
        uint32_t host = task.host;
        script_host_event(&s, EVENT_HOST_LOST, host);
        assert_int_equal(script_count(&s, DECISION_JOB_FAILED), 0);
        script_host(&s, host, SLOTS);
        assert_int_equal(script_task_state(&s, 1, 0, 0), TASK_RUNNING);
    }
    script_end(&s);
}

/* What nobody reads any more may go. */
static void outputs_that_nobody_needs_do_not_count(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 1, 3);
    map_end(&s, 0);
    map_end(&s, 1);
    uint64_t old = script_attempt_of(&s, 1, 0, 0);
    script_output_lost(&s, 1, 0, old + 1000); /* of another attempt */
    assert_int_equal(script_count(&s, DECISION_JOB_FAILED), 0);
    output_lose(&s, 0);
    assert_int_equal(script_count(&s, DECISION_JOB_FAILED), 1);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_lost_too_often_fail_the_job),
        cmocka_unit_test(each_host_counts_once),
        cmocka_unit_test(a_host_that_serves_nothing_fails_no_job_alone),
        cmocka_unit_test(rules_that_nobody_knows_are_refused),
        cmocka_unit_test(each_loss_counts_without_the_rule),
        cmocka_unit_test(without_a_bound_they_run_again_for_ever),
        cmocka_unit_test(what_a_lost_host_takes_does_not_count),
        cmocka_unit_test(outputs_that_nobody_needs_do_not_count),
    };
    return cmocka_run_group_tests_name("rerun", tests, NULL, NULL);
}
