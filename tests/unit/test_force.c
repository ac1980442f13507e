/* What urgent tasks are owed is taken back by force (users/force.h). */
#include "tests/unit/users_script.h"

/* The stops of the last step; each attempt ends as its host is told. */
static uint32_t end_stopped(struct script *s)
{
    uint64_t stopped[8];
    uint32_t n = 0;
    const struct decision *stop;
    for (; (stop = script_decision(s, DECISION_STOP, n)); n++) {
        assert_reason(stop, "taken-back");
        assert_true(stop->stop.requeue && stop->stop.by_job == 2);
        stopped[n] = stop->stop.attempt;
    }
    for (uint32_t i = 0; i < n; i++)
        script_attempt(s, EVENT_ATTEMPT_KILLED, stopped[i], 0);
    return n;
}

/* User 0 runs on four slots, two of them user 1's, which then has two tasks of that priority. */
static void begin_urgent(struct script *s, int64_t permille, int64_t priority)
{
    begin(s, "greedy", 1);
    assert_int_equal(script_parameter(s, "repay_permille", permille), REASON_NONE);
    assert_int_equal(script_parameter(s, "force_priority", 5), REASON_NONE);
    set_user(s, 1, 1);
    script_host(s, 0, 4);
    submit(s, 1, 0, 4, 1);
    assert_owed(s, 1, 2);
    s->now_ns += 3 * SECOND;
    submit_urgent(s, 2, 1, 2, priority);
}

static void test_urgent_tasks_take_back_by_force(void **state)
{
    struct script s;
    struct engine_explanation why;
    (void)state;
    begin_urgent(&s, 1000, 5);
    assert_int_equal(script_attempt_of(&s, 1, 0, 3), 0); /* the newest two */
    assert_int_equal(script_attempt_of(&s, 1, 0, 2), 0);
    assert_int_equal(end_stopped(&s), 2);
    assert_int_equal(script_job_view(&s, 2).running, 2);
    assert_int_equal(script_job_view(&s, 1).running, 2);
    assert_owed(&s, 1, 0);
    assert_int_equal(script_job_view(&s, 1).evictions, 2);
    assert_int_equal(script_job_view(&s, 1).evicted_ns, 6 * SECOND);
    assert_int_equal(engine_explain(s.engine, 1, 0, 3, &why), 0);
    assert_non_null(strstr(why.text, "granules to user 1, whose urgent task found no room."));
    script_end(&s);
}

/* At most repay_permille of what is owed in a turn, and no more than there are tasks. */
static void test_force_is_bounded_in_each_turn(void **state)
{
    struct script s;
    (void)state;
    begin_urgent(&s, 250, 9);
    assert_int_equal(script_count(&s, DECISION_STOP), 0); /* half of one */
    script_events(&s, NULL, 0);
    assert_int_equal(script_count(&s, DECISION_STOP), 1);
    size_t stops = 1;
    for (int i = 0; i < 9; i++) {
        script_events(&s, NULL, 0);
        assert_true(i || !script_count(&s, DECISION_STOP));
        stops += script_count(&s, DECISION_STOP);
    }
    assert_int_equal(stops, 2);
    script_end(&s);
}

static void test_others_wait(void **state)
{
    struct script s;
    (void)state;
    begin_urgent(&s, 1000, 4);
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    assert_int_equal(script_parameter(&s, "force_priority", 0), REASON_NONE);
    submit_urgent(&s, 3, 1, 1, 1000);
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    script_end(&s);
}

/* Who is urgent itself loses nothing, and no framework does. */
static void test_who_loses_nothing(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "greedy", 1);
    assert_int_equal(script_parameter(&s, "force_priority", 5), REASON_NONE);
    set_user(&s, 1, 1);
    script_host(&s, 0, 4);
    submit_urgent(&s, 1, 0, 4, 5);
    assert_owed(&s, 1, 2);
    submit_urgent(&s, 2, 1, 2, 9);
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    script_end(&s);
}

/* User 1's urgent tasks run in the room of its application, which has a slot: no stop on the host
 * makes another one there. */
static void test_an_applications_room_is_not_made_by_force(void **state)
{
    const uint64_t application = (UINT64_C(1) << 30) + 1;
    struct script s;
    struct engine_config config = begin_config("greedy", 1);
    (void)state;
    config.framework_jobs_max = 4;
    script_begin(&s, &config);
    s.reload = true;
    assert_int_equal(script_parameter(&s, "force_priority", 5), REASON_NONE);
    set_user(&s, 1, 1);
    script_host(&s, 0, 4);
    submit(&s, 1, 0, 4, 1);
    struct event room = {.kind = EVENT_FRAMEWORK_ROOM};
    room.framework_room.application = application;
    room.framework_room.tells = 1;
    room.framework_room.resources.amount[RES_SLOTS] = 1;
    script_event(&s, room);
    struct event job = {.kind = EVENT_FRAMEWORK_JOB};
    job.framework_job.job = application << ENGINE_APPLICATION_SHIFT | 1;
    job.framework_job.user = 1;
    job.framework_job.priority = 9;
    script_event(&s, job);
    script_offer(&s, job.framework_job.job, 3);
    assert_int_equal(script_count(&s, DECISION_ALLOW), 1);
    assert_int_equal(script_job_view(&s, job.framework_job.job).ready, 2);
    assert_true(view(&s, 1).owed > 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(script_count(&s, DECISION_STOP), 0);
        script_events(&s, NULL, 0);
    }
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urgent_tasks_take_back_by_force),
        cmocka_unit_test(test_force_is_bounded_in_each_turn),
        cmocka_unit_test(test_others_wait),
        cmocka_unit_test(test_who_loses_nothing),
        cmocka_unit_test(test_an_applications_room_is_not_made_by_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
