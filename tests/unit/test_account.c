/* What others may make the engine begin and hold: bounds that count whatever the numbers say. */
#include "tests/model/script.h"

static void begin(struct script *s, uint32_t attempts, uint32_t starts, uint32_t step)
{
    struct engine_config config = script_config();
    strcpy(config.place, "greedy");
    config.host_attempts_max = attempts;
    config.host_starts_max = starts;
    config.step_starts_max = step;
    config.framework_jobs_max = 1000;
    script_begin(s, &config);
    s->reload = true;
}

static void submit(struct script *s, uint64_t number, uint32_t maps)
{
    struct script_job job = {number, maps, 0, 0, NULL, 0, SECOND, SECOND, NULL, -1};
    script_submit(s, &job);
}

/* Wakes it until nothing is due now. */
static size_t run_on(struct script *s)
{
    size_t starts = script_count(s, DECISION_START);
    while (engine_deadline_ns(s->engine) <= s->now_ns) {
        script_events(s, NULL, 0);
        starts += script_count(s, DECISION_START);
    }
    return starts;
}

static void a_host_is_sent_no_more_than_it_answers(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 0, 10, 0);
    script_host(&s, 0, UINT64_C(1) << 40);
    script_host(&s, 1, 4);
    submit(&s, 1, 100);
    assert_int_equal(run_on(&s), 14);
    for (uint32_t t = 0; t < 100; t++) {
        uint64_t attempt = script_attempt_of(&s, 1, 0, t);
        if (attempt)
            script_attempt(&s, EVENT_ATTEMPT_STARTED, attempt, 0);
    }
    for (uint32_t t = 0; t < 100; t++)
        assert_int_equal(script_task_state(&s, 1, 0, t), TASK_RUNNING);
    script_end(&s);
}

/* 600 inputs of a start are three messages: two such starts are more than five, and wait for an answer. */
static void a_start_counts_by_its_messages(void **state)
{
    enum { MAPS = 600, REDUCES = 4 };
    struct script s;
    uint64_t sums[REDUCES];
    (void)state;
    begin(&s, 0, 5, 0);
    s.reload = false;
    script_host(&s, 0, MAPS);
    script_host(&s, 1, MAPS);
    for (int r = 0; r < REDUCES; r++)
        sums[r] = 1000 * MAPS;
    struct script_job job = {1, MAPS, 0, REDUCES, NULL, 0, SECOND, SECOND, sums, -1};
    script_submit(&s, &job);
    for (uint32_t t = 0; t < MAPS; t++) {
        if (t == MAPS - 1)
            script_host_event(&s, EVENT_HOST_SILENT, 1);
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, t), 0);
    }
    s.reload = true;
    assert_int_equal(script_count(&s, DECISION_START), 2);
    const uint64_t first = script_decision(&s, DECISION_START, 0)->start.attempt;
    script_events(&s, NULL, 0);
    script_attempt(&s, EVENT_ATTEMPT_STARTED, first, 0);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    script_end(&s);
}

static void a_host_runs_no_more_than_its_bound(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 7, 0, 0);
    script_host(&s, 0, UINT64_C(1) << 62);
    submit(&s, 1, 20);
    assert_int_equal(run_on(&s), 7);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    assert_int_equal(run_on(&s), 1);
    script_end(&s);
}

/* A demand of nothing, which only a log of before can hold, and one of next to nothing. */
static void whatever_is_demanded_the_bounds_count(void **state)
{
    struct script s;
    (void)state;
    for (int64_t demand = 0; demand < 2; demand++) {
        uint64_t vector[ENGINE_RESOURCES] = {1, 0, UINT64_C(1) << 40};
        begin(&s, 9, 0, 0);
        script_event(&s, script_join(0, 1, vector));
        script_job_begin(&s, 1);
        struct event stage = script_stage_event(1, 0, 5000, NULL, NULL);
        stage.job_stage.demand = (struct resources){{[RES_MEM_BYTES] = demand}};
        script_event(&s, stage);
        script_job_end(&s, 1);
        assert_int_equal(run_on(&s), 9);
        script_end(&s);
    }
}

static void a_step_starts_no_more_than_its_bound(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 0, 0, 8);
    for (uint32_t h = 0; h < 5; h++)
        script_host(&s, h, 5);
    submit(&s, 1, 100);
    assert_int_equal(script_count(&s, DECISION_START), 8);
    for (size_t left = 17; left; left -= left < 8 ? left : 8) {
        assert_int_equal(engine_deadline_ns(s.engine), s.now_ns);
        script_events(&s, NULL, 0);
        assert_int_equal(script_count(&s, DECISION_START), left < 8 ? left : 8);
    }
    assert_int_equal(run_on(&s), 1); /* what the last step began */
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_sent_no_more_than_it_answers),
        cmocka_unit_test(a_start_counts_by_its_messages),
        cmocka_unit_test(a_host_runs_no_more_than_its_bound),
        cmocka_unit_test(whatever_is_demanded_the_bounds_count),
        cmocka_unit_test(a_step_starts_no_more_than_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
