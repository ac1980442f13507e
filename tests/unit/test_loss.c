/* Tasks that are lost with host after host; each step also from a dump. */
#include "tests/model/script_dump.h"

enum { HOSTS = 8 };

static void begin(struct script *s, uint32_t losses_max)
{
    struct engine_config config = script_config();
    config.losses_max = losses_max;
    script_begin(s, &config);
    s->reload = true;
    for (uint32_t h = 0; h < HOSTS; h++)
        script_host(s, h, 4);
    struct script_job job = {1, 1, 0, 0, NULL, 0, SECOND, SECOND, NULL, -1};
    script_submit(s, &job);
}

static struct task_view its_task(const struct script *s)
{
    struct task_view task;
    assert_int_equal(engine_task(s->engine, 1, 0, 0, &task), 0);
    return task;
}

/* Its first loss is none of its faults; each after it is one failure, and four fail the job. */
static void who_is_lost_with_host_after_host_fails_its_job(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 2);
    for (uint32_t n = 0; n < 5; n++) {
        struct task_view task = its_task(&s);
        assert_int_equal(task.state, TASK_RUNNING);
        assert_int_equal(task.losses, n);
        assert_int_equal(task.failures, n ? n - 1 : 0);
        assert_int_equal(task.loss_fails, n >= 1);
        assert_int_equal(script_count(&s, DECISION_JOB_FAILED), 0);
        script_host_event(&s, EVENT_HOST_LOST, task.host);
    }
    const struct decision *failed = script_decision(&s, DECISION_JOB_FAILED, 0);
    assert_non_null(failed);
    assert_int_equal(failed->reason, REASON_TOO_MANY_LOSSES);
    assert_string_equal(reason_name(failed->reason), "too-many-losses");
    assert_int_equal(failed->left, 5);
    assert_true(failed->job_failed.attempt > 0);
    script_end(&s);
}

/* Where a host has come back as another before it was lost, what ran there is lost with it, too. */
static void a_host_that_boots_anew_counts(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 1);
    struct task_view task = its_task(&s);
    static const uint64_t units[ENGINE_RESOURCES] = {4};
    struct event join = script_join(task.host, 4, units);
    join.host_join.generation += 1;
    script_event(&s, join);
    task = its_task(&s);
    assert_int_equal(task.losses, 1);
    assert_int_equal(task.failures, 1);
    script_end(&s);
}

/* Host 0 has the only task of job 1, and its other one is full until job 2 ends. */
static void begin_pair(struct script *s)
{
    struct engine_config config = script_config();
    script_begin(s, &config);
    s->reload = true;
    script_host(s, 1, 1);
    struct script_job other = {2, 1, 0, 0, NULL, 0, SECOND, SECOND, NULL, -1};
    script_submit(s, &other);
    script_host(s, 0, 1);
    struct script_job job = {1, 1, 0, 0, NULL, 0, SECOND, SECOND, NULL, -1};
    script_submit(s, &job);
    assert_int_equal(its_task(s).host, 0);
}

static void host_0_comes_and_goes(struct script *s)
{
    script_host_event(s, EVENT_HOST_LOST, 0);
    script_host(s, 0, 1);
    if (its_task(s).state != TASK_RUNNING) { /* it waits for another host */
        s->now_ns += 30 * SECOND;
        script_events(s, NULL, 0);
    }
}

/* It alone fails no job: that it was lost with the task is one fact, however often it says so. */
static void who_comes_and_goes_counts_once(void **state)
{
    struct script s;
    (void)state;
    begin_pair(&s);
    for (uint32_t n = 0; n < 20; n++) {
        host_0_comes_and_goes(&s);
        /* It is suspect then, and this task is no probe. */
        assert_int_equal(its_task(&s).state, n < 2 ? TASK_RUNNING : TASK_READY);
        assert_int_equal(its_task(&s).losses, 1);
        assert_int_equal(its_task(&s).failures, 0);
        assert_int_equal(its_task(&s).loss_fails, n >= 2);
    }
    struct task_view other;
    assert_int_equal(engine_task(s.engine, 2, 0, 0, &other), 0);
    script_attempt(&s, EVENT_ATTEMPT_DONE, other.attempt, 0);
    script_host_event(&s, EVENT_HOST_LOST, 0);
    script_host(&s, 0, 1);
    assert_int_equal(its_task(&s).host, 1);
    assert_true(its_task(&s).loss_fails);
    script_end(&s);
}

/* Where there is no other, each counts: its task would take it down for ever. */
static void the_only_host_counts_each_time(void **state)
{
    struct script s;
    (void)state;
    begin_pair(&s);
    script_host_event(&s, EVENT_HOST_LOST, 1);
    for (uint32_t n = 0; n < 4; n++) {
        host_0_comes_and_goes(&s);
        assert_int_equal(its_task(&s).losses, n + 1);
        assert_int_equal(script_count(&s, DECISION_JOB_FAILED), 0);
    }
    script_host_event(&s, EVENT_HOST_LOST, 0);
    assert_int_equal(script_count(&s, DECISION_JOB_FAILED), 1);
    script_end(&s);
}

/* As in logs of before. */
static void each_counts_in_logs_of_before(void **state)
{
    struct script s;
    (void)state;
    struct engine_config config = script_config();
    config.hosts_count_once = false;
    script_begin(&s, &config);
    s.reload = true;
    script_host(&s, 0, 1);
    script_host(&s, 1, 0);
    struct script_job job = {1, 1, 0, 0, NULL, 0, SECOND, SECOND, NULL, -1};
    script_submit(&s, &job);
    for (uint32_t n = 0; n < 4; n++)
        host_0_comes_and_goes(&s);
    assert_int_equal(its_task(&s).losses, 4);
    script_host_event(&s, EVENT_HOST_LOST, 0);
    assert_int_equal(script_count(&s, DECISION_JOB_FAILED), 1);
    script_end(&s);
}

/* As in logs of before. */
static void without_a_bound_no_loss_counts(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 0);
    for (uint32_t n = 0; n < 50; n++) {
        struct task_view task = its_task(&s);
        assert_int_equal(task.failures, 0);
        assert_int_equal(task.losses, 0);
        script_host_event(&s, EVENT_HOST_LOST, task.host);
        script_host(&s, task.host, 4);
    }
    script_end(&s);
}

/* What only waits on its node has done nothing there; what was told to stop is no try of the
 * task. */
static void what_waits_or_stops_there_does_not_count(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 1);
    struct task_view task = its_task(&s);
    script_attempt(&s, EVENT_ATTEMPT_QUEUED, task.attempt, 0);
    script_host_event(&s, EVENT_HOST_LOST, task.host);
    assert_int_equal(its_task(&s).losses, 0);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_lost_with_host_after_host_fails_its_job),
        cmocka_unit_test(a_host_that_boots_anew_counts),
        cmocka_unit_test(who_comes_and_goes_counts_once),
        cmocka_unit_test(the_only_host_counts_each_time),
        cmocka_unit_test(each_counts_in_logs_of_before),
        cmocka_unit_test(without_a_bound_no_loss_counts),
        cmocka_unit_test(what_waits_or_stops_there_does_not_count),
    };
    return cmocka_run_group_tests_name("loss", tests, NULL, NULL);
}
