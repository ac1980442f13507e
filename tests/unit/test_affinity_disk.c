/* affinity where a disk hangs, and what explain says it compared. */
#include "tests/model/script.h"

#include <string.h>

#define MB UINT64_C(1000000)

static const uint64_t reads[] = {100 * MB, 100 * MB, 1, 3 * SECOND}, /* 4 s */
    computes[] = {0, 0, 0, 2 * SECOND};

static void begin(struct script *s, uint32_t hosts, uint64_t slots)
{
    struct engine_config config = script_config();
    strcpy(config.turn, "fifo");
    strcpy(config.place, "affinity");
    script_begin(s, &config);
    for (uint32_t h = 0; h < hosts; h++) {
        const uint64_t vector[ENGINE_RESOURCES] = {[RES_SLOTS] = slots};
        struct event join = script_join(h, slots, vector);
        join.host_join.disk_bytes_s = 100 * MB;
        script_event(s, join);
    }
}

static void report(struct script *s, uint32_t host, bool hangs)
{
    struct event event = {.kind = EVENT_HOST_LOAD};
    event.host_load.host = host;
    event.host_load.resource = LOAD_DISK;
    event.host_load.hangs = hangs;
    script_event(s, event);
}

static void submit(struct script *s, uint64_t job, uint32_t tasks, const uint64_t *profile)
{
    struct event stage = script_stage_event(job, 0, tasks, NULL, NULL);
    stage.job_stage.profiles = (struct u64s){profile, profile ? PROFILE_NUMBERS : 0};
    script_job_begin(s, job);
    script_event(s, stage);
    script_tasks(s, job, 0, tasks, 0, 0, NULL);
    script_job_end(s, job);
}

static struct engine_explanation explain(const struct script *s, uint64_t job, uint32_t task)
{
    struct engine_explanation e;
    assert_int_equal(engine_explain(s->engine, job, 0, task, &e), 0);
    return e;
}

static const char *fact(const struct engine_explanation *e, const char *name)
{
    for (uint32_t i = 0; i < e->facts; i++)
        if (strcmp(e->fact[i].name, name) == 0)
            return e->fact[i].value;
    return NULL;
}

/* What reads goes to the other host, or waits; what computes takes the room. */
static void test_nothing_that_reads_goes_to_a_disk_that_hangs(void **state)
{
    (void)state;
    for (int reload = 0; reload < 2; reload++) {
        struct script s;
        begin(&s, 2, 2);
        s.reload = reload;
        report(&s, 0, true);
        submit(&s, 1, 3, reads);
        assert_int_equal(script_count(&s, DECISION_START), 2);
        for (uint32_t task = 0; task < 2; task++)
            assert_int_equal(script_start(&s, 1, 0, task)->start.host, 1);
        const struct engine_explanation e = explain(&s, 1, 2);
        assert_non_null(strstr(e.text, "has a disk that answers nothing, as h0: it was predicted "
                                       "never to end there."));
        assert_string_equal(fact(&e, "disk_hangs"), "h0");
        submit(&s, 2, 3, computes);
        assert_int_equal(script_count(&s, DECISION_START), 2);
        assert_int_equal(script_start(&s, 2, 0, 0)->start.host, 0);
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 2, 0, 0), 0);
        assert_non_null(script_start(&s, 2, 0, 2)); /* though job 1 is first in turn */
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 2, 0, 1), 0);
        assert_int_equal(script_count(&s, DECISION_START), 0);
        report(&s, 0, false); /* it answers */
        assert_int_equal(script_count(&s, DECISION_START), 1);
        assert_int_equal(script_start(&s, 1, 0, 2)->start.host, 0);
        script_end(&s);
    }
}

/* Behind all others, though it runs the fewest. */
static void test_a_host_whose_disk_hangs_comes_last(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 3, 2);
    report(&s, 0, true);
    report(&s, 2, true);
    submit(&s, 1, 3, NULL);
    assert_int_equal(script_start(&s, 1, 0, 0)->start.host, 1);
    assert_int_equal(script_start(&s, 1, 0, 1)->start.host, 1);
    assert_int_not_equal(script_start(&s, 1, 0, 2)->start.host, 1);
    script_end(&s);
}

static void test_the_runners_up_are_kept(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 1, 1);
    submit(&s, 1, 1, reads);
    struct engine_explanation e = explain(&s, 1, 0);
    assert_non_null(strstr(e.text, " No other kind of stage could have run there."));
    assert_string_equal(fact(&e, "compared_with"), "0");
    for (uint64_t job = 2; job < 8; job++) {
        const uint64_t profile[] = {0, 0, 0, job * (uint64_t)SECOND};
        s.now_ns += SECOND;
        submit(&s, job, 1, profile);
    }
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    e = explain(&s, 2, 0);
    assert_non_null(strstr(
        e.text, " Of 5 other kinds of stages that could have run there came next: 3/0: 3.0 s "
                "predicted, 3.0 s alone, 1.0 s ahead; 4/0: 4.0 s predicted, 4.0 s alone, 2.0 s "
                "ahead; 5/0: 5.0 s predicted, 5.0 s alone, 3.0 s ahead."));
    assert_string_equal(fact(&e, "compared_with"), "5");
    assert_string_equal(fact(&e, "runner_up_3"), "5/0: 5.0 s predicted, 5.0 s alone, 3.0 s ahead");
    assert_null(fact(&e, "runner_up_4"));
    script_end(&s);
}

/* What is predicted where a disk is crowded, and a start that nothing was compared for. */
static void test_numbers_of_a_crowded_disk(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 1, 1);
    struct event load = {.kind = EVENT_HOST_LOAD};
    load.host_load.resource = LOAD_DISK;
    load.host_load.permille = 2000;
    load.host_load.users = 2;
    script_event(&s, load);
    submit(&s, 1, 1, computes);
    submit(&s, 2, 1, computes);
    s.now_ns += SECOND;
    submit(&s, 3, 1, reads);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    const struct engine_explanation e = explain(&s, 2, 0);
    assert_string_equal(fact(&e, "runner_up_1"), "3/0: 6.0 s predicted, 4.0 s alone, 1.0 s ahead");
    s.reload = true;
    s.now_ns += SECOND;
    script_events(&s, NULL, 0);
    const struct engine_explanation after = explain(&s, 2, 0);
    assert_null(fact(&after, "compared_with")); /* a dump does not keep it */
    script_end(&s);
}

/* A ready stage goes by its new profile; what is no profile, or of no stage, is ignored. */
static void test_a_profile_that_changes(void **state)
{
    (void)state;
    for (int reload = 0; reload < 2; reload++) {
        struct script s;
        struct event event = {.kind = EVENT_JOB_PROFILE};
        begin(&s, 1, 1);
        s.reload = reload;
        submit(&s, 1, 1, computes);
        submit(&s, 2, 1, reads);
        event.job_profile.job = 2;
        event.job_profile.read_bytes = 300 * MB;
        event.job_profile.read_bytes_s = 100 * MB;
        event.job_profile.before = 1;
        event.job_profile.compute_ns = 3 * SECOND;
        script_event(&s, event);
        event.job_profile.read_bytes_s = 0; /* it would never end */
        script_event(&s, event);
        event.job_profile.read_bytes_s = 1;
        event.job_profile.variant = 1;
        script_event(&s, event);
        event.job_profile.job = 3;
        script_event(&s, event);
        if (!reload)
            assert_int_equal(script_counters(&s).ignored_facts, 3);
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
        const struct decision *start = script_start(&s, 2, 0, 0);
        assert_non_null(start);
        assert_int_equal(start->right, 6 * SECOND);
        script_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_that_reads_goes_to_a_disk_that_hangs),
        cmocka_unit_test(test_a_host_whose_disk_hangs_comes_last),
        cmocka_unit_test(test_the_runners_up_are_kept),
        cmocka_unit_test(test_numbers_of_a_crowded_disk),
        cmocka_unit_test(test_a_profile_that_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
