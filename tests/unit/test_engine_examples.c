/* The specification's worked examples: mode switch, and example 2 (slots held back let another job
 * through). */
#include "tests/model/script.h"

enum { UNIT = 1000000 };

/* The explanation's sentence contains `words`, and its fact `name` has the value. */
static void check_explanation(struct script *s, uint64_t job, uint32_t stage, uint32_t task,
                              const char *words, const char *name, const char *value)
{
    struct engine_explanation e;
    assert_int_equal(engine_explain(s->engine, job, stage, task, &e), 0);
    if (!strstr(e.text, words))
        fail_msg("\"%s\" does not say \"%s\"", e.text, words);
    for (uint32_t i = 0; i < e.facts; i++)
        if (strcmp(e.fact[i].name, name) == 0) {
            assert_string_equal(e.fact[i].value, value);
            return;
        }
    fail_msg("no fact %s", name);
}

struct example_2 {
    struct script s;
    uint64_t maps[4], reduces[2], other; /* attempts */
    uint32_t held_task;
};

/* Job A: four maps, each where its block is. */
static void maps_start(struct example_2 *e)
{
    static const uint32_t blocks_a[] = {0, 0, 1, 1};
    static const uint64_t sums[] = {4 * UNIT, 4 * UNIT, 4 * UNIT, 4 * UNIT};
    struct script_job a = {1, 4, 1, 4, blocks_a, UNIT, SECOND, 0, sums, 16 * UNIT};
    script_submit(&e->s, &a);
    for (uint32_t m = 0; m < 4; m++) {
        const struct decision *start = script_start(&e->s, 1, 0, m);
        assert_non_null(start);
        assert_int_equal(start->start.host, blocks_a[m]);
        assert_reason(start, "local-block");
        e->maps[m] = start->start.attempt;
    }
}

/* Two reduces of A start, one a host; the others would stall on downlinks that are in use. */
static void reduces_start(struct example_2 *e)
{
    e->s.now_ns = 1 * SECOND;
    for (int m = 0; m < 4; m++)
        script_attempt(&e->s, EVENT_ATTEMPT_DONE, e->maps[m], 0);
    assert_int_equal(script_count(&e->s, DECISION_START), 2);
    uint32_t hosts = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const struct decision *start = script_decision(&e->s, DECISION_START, i);
        assert_int_equal(start->start.stage, 1);
        assert_reason(start, "link-unused");
        assert_int_equal(start->start.input_bytes, 2 * UNIT);
        hosts |= 1u << start->start.host;
        e->reduces[i] = start->start.attempt;
    }
    assert_int_equal(hosts, 3);
    const struct decision *hold = script_decision(&e->s, DECISION_HOLD, 0);
    assert_non_null(hold);
    assert_reason(hold, "would-stall");
    assert_int_equal(hold->left, 16 * UNIT);
    assert_int_equal(hold->right, 16 * UNIT);

    while (script_start(&e->s, 1, 1, e->held_task))
        e->held_task++;
    check_explanation(
        &e->s, 1, 1, e->held_task,
        "Held back: its Coflow of 16000000 bytes would be first on no downlink with a "
        "free slot: on each, one that is not larger receives (the largest of these: "
        "16000000 bytes).",
        "hold_reason", "would-stall");
    check_explanation(&e->s, 1, 1, e->held_task ? 0 : 1, "nobody received over its downlink",
                      "coflow_level", "1");
    check_explanation(&e->s, 1, 0, 0, "Done by attempt", "kind", "map");
}

/* Job B comes and the first in order is the one with fewer bytes. */
static void other_job_starts(struct example_2 *e, bool other_is_larger)
{
    e->s.now_ns = 2 * SECOND;
    script_load(&e->s, 0, 1000);
    script_load(&e->s, 1, 1000);
    static const uint32_t blocks_b[] = {0, 1};
    struct script_job b = {2,    1,      2, 0,    blocks_b,
                           UNIT, SECOND, 0, NULL, other_is_larger ? 2000 * INT64_C(1000000) : 1};
    script_submit(&e->s, &b);
    struct engine_status status;
    engine_status(e->s.engine, &status);
    assert_int_equal(status.first_job, other_is_larger ? 1 : 2);
    assert_true(status.congested);
    const struct decision *m5 = script_start(&e->s, 2, 0, 0);
    assert_non_null(m5);
    if (other_is_larger)
        check_explanation(&e->s, 1, 1, e->held_task, "Held back: its Macroflow of 4000000 bytes",
                          "mode_numbers", "2 ready, 1 free");
    e->other = m5->start.attempt;
}

/* The held reduces start where the first ones ended, and A is done after 5 seconds. */
static void both_jobs_end(struct example_2 *e)
{
    e->s.now_ns = 3 * SECOND;
    script_attempt(&e->s, EVENT_ATTEMPT_DONE, e->other, 0);
    const struct decision *done = script_decision(&e->s, DECISION_JOB_DONE, 0);
    assert_non_null(done);
    assert_int_equal(done->job_done.job, 2);
    script_load(&e->s, 0, 0);
    script_load(&e->s, 1, 0);
    uint64_t rest[2];
    for (int i = 0; i < 2; i++) {
        script_attempt(&e->s, EVENT_ATTEMPT_DONE, e->reduces[i], 2 * UNIT);
        assert_int_equal(script_count(&e->s, DECISION_START), 1);
        rest[i] = script_decision(&e->s, DECISION_START, 0)->start.attempt;
    }
    e->s.now_ns = 5 * SECOND;
    script_attempt(&e->s, EVENT_ATTEMPT_DONE, rest[0], 2 * UNIT);
    script_attempt(&e->s, EVENT_ATTEMPT_DONE, rest[1], 2 * UNIT);
    done = script_decision(&e->s, DECISION_JOB_DONE, 0);
    assert_non_null(done);
    assert_int_equal(done->job_done.finished_ns - done->job_done.submitted_ns, 5 * SECOND);
    assert_int_equal(script_count(&e->s, DECISION_FORGET), 2);
}

static void example_2(bool other_is_larger, bool reload)
{
    struct example_2 e = {.held_task = 0};
    struct engine_config config = script_config();
    script_begin(&e.s, &config);
    e.s.reload = reload;
    script_host(&e.s, 0, 2);
    script_host(&e.s, 1, 2);
    maps_start(&e);
    reduces_start(&e);
    other_job_starts(&e, other_is_larger);
    both_jobs_end(&e);
    script_end(&e.s);
}

static void test_example_2_smaller_other_job(void **state)
{
    (void)state;
    example_2(false, false);
}

static void test_example_2_larger_other_job(void **state)
{
    (void)state;
    example_2(true, false);
}

/* The same with the engine dumped and loaded after every step. */
static void test_example_2_survives_dump_and_load(void **state)
{
    (void)state;
    example_2(false, true);
    example_2(true, true);
}

/* Greedy placement of the same case fills all four slots at once. */
static void test_example_2_greedy_fills_all_slots(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    strcpy(config.place, "greedy");
    script_begin(&s, &config);
    script_host(&s, 0, 2);
    script_host(&s, 1, 2);
    static const uint32_t blocks[] = {0, 0, 1, 1};
    static const uint64_t sums[] = {4 * UNIT, 4 * UNIT, 4 * UNIT, 4 * UNIT};
    struct script_job a = {1, 4, 1, 4, blocks, UNIT, SECOND, 0, sums, 0};
    script_submit(&s, &a);
    uint64_t maps[4];
    for (uint32_t m = 0; m < 4; m++)
        maps[m] = script_start(&s, 1, 0, m)->start.attempt;
    s.now_ns = SECOND;
    size_t starts = 0;
    for (int m = 0; m < 4; m++) {
        script_attempt(&s, EVENT_ATTEMPT_DONE, maps[m], 0);
        starts += script_count(&s, DECISION_START);
    }
    assert_int_equal(starts, 4);
    script_end(&s);
}

/* J1 is the smallest and fully placed: rich. J2, larger, does not fit: still rich. J3, the smallest
 * of all, does not fit: starved. */
static void test_mode_switch_example(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    script_begin(&s, &config);
    script_host(&s, 0, 2);
    struct engine_status status;
    struct script_job j1 = {1, 2, 0, 0, NULL, 0, SECOND, 0, NULL, 1000000};
    struct script_job j2 = {2, 2, 0, 0, NULL, 0, SECOND, 0, NULL, 2000000000};
    struct script_job j3 = {3, 1, 0, 0, NULL, 0, SECOND / 100, 0, NULL, 1};
    script_submit(&s, &j1);
    uint64_t first = script_start(&s, 1, 0, 0)->start.attempt;
    engine_status(s.engine, &status);
    assert_int_equal(status.mode, MODE_SLOT_RICH);
    script_submit(&s, &j2);
    engine_status(s.engine, &status);
    assert_int_equal(status.mode, MODE_SLOT_RICH);
    script_submit(&s, &j3);
    engine_status(s.engine, &status);
    assert_int_equal(status.mode, MODE_SLOT_STARVED);
    const struct decision *mode = script_decision(&s, DECISION_MODE, 0);
    assert_reason(mode, "first-blocked");
    assert_int_equal(mode->left, 1);
    assert_int_equal(mode->right, 0);
    s.now_ns = SECOND;
    script_attempt(&s, EVENT_ATTEMPT_DONE, first, 0);
    assert_non_null(script_start(&s, 3, 0, 0));
    engine_status(s.engine, &status);
    assert_int_equal(status.mode, MODE_SLOT_RICH);
    script_end(&s);
}

/* With ignore_held, tasks that no host with a free slot would take do not make the cluster
 * slot-starved. */
static void test_held_tasks_can_be_left_out_of_the_mode(void **state)
{
    (void)state;
    static const uint64_t sums[] = {4 * UNIT, 4 * UNIT, 4 * UNIT};
    for (int ignore = 0; ignore < 2; ignore++) {
        struct script s;
        struct engine_config config = script_config();
        engine_config_say(&config, "ignore_held", ignore, NULL);
        script_begin(&s, &config);
        script_host(&s, 0, 2);
        script_host(&s, 1, 1);
        static const uint32_t block[] = {1};
        struct script_job job = {1, 1, 1, 3, block, UNIT, SECOND, 0, sums, 0};
        script_submit(&s, &job);
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_start(&s, 1, 0, 0)->start.attempt, 0);
        struct engine_status status;
        engine_status(s.engine, &status);
        assert_int_equal(status.tasks_ready + status.attempts, 3);
        assert_int_equal(status.mode, status.first_ready > (uint64_t)status.first_free
                                          ? MODE_SLOT_STARVED
                                          : MODE_SLOT_RICH);
        assert_int_equal(status.first_ready, ignore ? 0 : status.tasks_ready);
        script_end(&s);
    }
}

/* A task that is refused everywhere fails its job after failures_max, instead of being sent for
 * ever. */
static void test_refused_attempts_count_as_failures(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    script_begin(&s, &config);
    script_host(&s, 0, 1);
    struct script_job job = {1, 1, 0, 0, NULL, 0, SECOND, 0, NULL, 0};
    script_submit(&s, &job);
    for (uint32_t i = 0; i < config.failures_max; i++) {
        assert_null(script_decision(&s, DECISION_JOB_FAILED, 0));
        script_attempt(&s, EVENT_ATTEMPT_REFUSED, script_start(&s, 1, 0, 0)->start.attempt, 0);
    }
    assert_int_equal(script_decision(&s, DECISION_JOB_FAILED, 0)->reason, REASON_TOO_MANY_FAILURES);
    script_end(&s);
}

/* Congestion is said with the names of the uplinks, a few of them. */
static void test_congested_uplinks_are_named(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    strcpy(config.turn, "fifo");
    script_begin(&s, &config);
    for (uint32_t h = 0; h < 7; h++)
        script_host(&s, h, 1);
    static const uint32_t blocks[] = {0};
    script_load(&s, 3, 950);
    for (uint64_t job = 1; job <= 2; job++) {
        struct script_job j = {job, 1, 1, 0, blocks, UNIT, SECOND, 0, NULL, 1};
        script_submit(&s, &j);
    }
    check_explanation(&s, 2, 0, 0,
                      "other jobs than the first (1) start only tasks next to their blocks. The "
                      "uplink of h3 is at or above 800 per mille.",
                      "hold_reason", "congested");
    script_load(&s, 5, 800);
    check_explanation(&s, 2, 0, 0, "The uplinks of h3 and h5 are at", "congested", "yes");
    for (uint32_t h = 1; h < 7; h++)
        script_load(&s, h, 1000);
    check_explanation(&s, 2, 0, 0, "The uplinks of h1, h2, h3, h4 and 2 others are at", "congested",
                      "yes");
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_congested_uplinks_are_named),
        cmocka_unit_test(test_example_2_smaller_other_job),
        cmocka_unit_test(test_example_2_larger_other_job),
        cmocka_unit_test(test_example_2_survives_dump_and_load),
        cmocka_unit_test(test_example_2_greedy_fills_all_slots),
        cmocka_unit_test(test_mode_switch_example),
        cmocka_unit_test(test_held_tasks_can_be_left_out_of_the_mode),
        cmocka_unit_test(test_refused_attempts_count_as_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
