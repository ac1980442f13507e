/* affinity where inputs wait for downlinks: what that moves, by which network, what explain says of
 * it, and that nothing of it is there by default. */
#include "tests/model/script_dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MB UINT64_C(1000000)

/* Links carry 125 MB a second. Maps run on h1, all else on h0. */
static const char *const on[] = {"host=h0", "host=h1"};

static void begin(struct script *s, const char *downlink, const char *network)
{
    struct engine_config config = script_config();
    int64_t value;
    strcpy(config.turn, "fifo");
    strcpy(config.place, "affinity");
    strcpy(config.network, network);
    if (downlink) {
        assert_int_equal(engine_choice_find(engine_parameter("downlink"), downlink, &value, NULL),
                         0);
        assert_int_equal(engine_config_say(&config, "downlink", value, NULL), 0);
    }
    script_begin(s, &config);
    const uint64_t vector[ENGINE_RESOURCES] = {[RES_SLOTS] = 2, [RES_GPU_MILLI] = 3000};
    script_event(s, script_join(0, 2, vector));
    script_host(s, 1, 4);
}

static void tell_stage(struct script *s, uint64_t job, uint32_t stage, uint32_t tasks, bool gpu,
                       uint64_t seconds)
{
    static const uint32_t parent, barrier = EDGE_BARRIER;
    const bool maps = !stage && !seconds;
    const uint64_t profile[] = {0, 0, 0, (maps ? 1 : seconds) * (uint64_t)SECOND};
    struct event event =
        script_stage_event(job, stage, tasks, stage ? &parent : NULL, stage ? &barrier : NULL);
    if (gpu)
        event.job_stage.demand = (struct resources){{[RES_GPU_MILLI] = 1000}};
    event.job_stage.constraint = on[maps];
    event.job_stage.profiles = (struct u64s){profile, PROFILE_NUMBERS};
    script_event(s, event);
    assert_int_equal(script_rejection(s), REASON_NONE);
    script_tasks(s, job, stage, tasks, 0, 0, NULL);
}

/* Tasks that compute for so long on h0. */
static void submit(struct script *s, uint64_t job, uint32_t tasks, bool gpu, uint64_t seconds)
{
    script_job_begin(s, job);
    tell_stage(s, job, 0, tasks, gpu, seconds);
    script_job_end(s, job);
}

/* A map on h1, and such tasks on h0 that read so much of its output each. */
static void submit_readers(struct script *s, uint64_t job, uint32_t tasks, bool gpu,
                           uint64_t seconds, uint64_t bytes)
{
    script_job_begin(s, job);
    tell_stage(s, job, 0, 1, false, 0);
    tell_stage(s, job, 1, tasks, gpu, seconds);
    script_bytes(s, job, 1, 0, tasks, bytes);
    script_job_end(s, job);
}

static void map_ends(struct script *s, uint64_t job)
{
    script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, job, 0, 0), 0);
}

static uint64_t starts_of(const struct script *s, uint64_t job)
{
    uint64_t n = 0;
    const struct decision *d;
    for (size_t i = 0; (d = script_decision(s, DECISION_START, i)); i++)
        n += d->start.job == job;
    return n;
}

/* Two readers of 125 MB and a task of a job that comes `late`, all ready when h0 comes back, which
 * has two slots: who gets the second. */
static void meet(struct script *s, const char *downlink, int64_t late)
{
    begin(s, downlink, "none");
    script_host_event(s, EVENT_HOST_SILENT, 0);
    submit_readers(s, 1, 2, false, 1, 125 * MB);
    map_ends(s, 1);
    s->now_ns += late;
    submit(s, 2, 1, false, 4);
    script_host_event(s, EVENT_HOST_BACK, 0);
    assert_int_equal(script_count(s, DECISION_START), 2);
    assert_int_equal(script_start(s, 1, 1, 0)->left, SECOND); /* nobody is there */
}

/* The other reader's progress is 1 s, and it would wait for another one. */
static void test_a_loaded_downlink_moves_the_choice(void **state)
{
    (void)state;
    static const struct {
        const char *downlink;
        int64_t late;
        bool reads; /* the other reader gets the slot */
    } cases[] = {{NULL, 1500000000, true},      {"alike", 1500000000, true},
                 {"added", 1500000000, false},  {"added", 2500000000, true},
                 {"behind", 2500000000, false}, {"added", 500000000, false},
                 {NULL, 500000000, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct script s;
        meet(&s, cases[i].downlink, cases[i].late);
        const struct decision *second = script_start(&s, 1, 1, 1);
        const bool counts = cases[i].downlink && strcmp(cases[i].downlink, "alike") != 0;
        assert_int_equal(second != NULL, cases[i].reads);
        assert_int_equal(starts_of(&s, 2), !cases[i].reads);
        if (second) {
            assert_int_equal(second->left, counts ? 2 * SECOND : SECOND);
            assert_int_equal(second->right, SECOND);
        }
        script_end(&s);
    }
}

/* Of three GPUs readers get the first; one has had as few attempts there as the other when the
 * third is given, and came first. */
static void test_a_wait_delays_on_a_gpu(void **state)
{
    (void)state;
    static const char *const downlinks[] = {"alike", "added", "behind"};
    for (int i = 0; i < 3; i++) {
        struct script s;
        begin(&s, downlinks[i], "none");
        script_host_event(&s, EVENT_HOST_SILENT, 0);
        submit_readers(&s, 1, 3, true, 1, 125 * MB);
        map_ends(&s, 1);
        submit(&s, 2, 3, true, 4);
        script_host_event(&s, EVENT_HOST_BACK, 0);
        assert_int_equal(starts_of(&s, 1), i ? 1 : 2);
        assert_int_equal(starts_of(&s, 2), i ? 2 : 1);
        script_end(&s);
    }
}

/* One of job 2 receives; who is the next: a reader of job 1, or job 3's? */
static const struct decision *beside(struct script *s, const char *network, uint64_t bytes,
                                     uint64_t of_other, uint64_t received, bool complete)
{
    begin(s, "behind", network);
    submit_readers(s, 1, 1, false, 1, bytes);
    submit_readers(s, 2, 1, false, 1, of_other);
    map_ends(s, 2);
    const uint64_t attempt = script_attempt_of(s, 2, 1, 0);
    script_attempt(s, EVENT_ATTEMPT_STARTED, attempt, 0);
    script_attempt(s, complete ? EVENT_ATTEMPT_RECEIVED : EVENT_ATTEMPT_PROGRESS, attempt,
                   received);
    script_host_event(s, EVENT_HOST_SILENT, 0);
    submit(s, 3, 1, false, 4);
    map_ends(s, 1);
    s->reload = true;
    script_host_event(s, EVENT_HOST_BACK, 0);
    assert_int_equal(script_count(s, DECISION_START), 1);
    return script_start(s, 1, 1, 0);
}

static void test_only_what_is_as_urgent_is_waited_for(void **state)
{
    (void)state;
    static const struct {
        const char *network;
        uint64_t bytes, of_other;
        bool reads; /* it waits for nothing */
    } cases[] = {{"none", 50, 250, false},
                 {"rank", 250, 50, true},
                 {"cans", 50, 250, true},
                 {"cans", 250, 50, false},
                 {"cans", 250, 250, false},
                 {"cans-coflow", 50, 250, true},
                 {"cans-macroflow", 250, 50, false},
                 {"scf", 50, 250, true},
                 {"dclas", 50, 250, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct script s;
        const struct decision *start =
            beside(&s, cases[i].network, cases[i].bytes * MB, cases[i].of_other * MB, 0, false);
        if ((start != NULL) != cases[i].reads)
            fail_msg("%s, %d MB beside %d MB", cases[i].network, (int)cases[i].bytes,
                     (int)cases[i].of_other);
        script_end(&s);
    }
}

/* What a host reports to have received is waited for no more; nor is a whole input. */
static void test_what_was_received_is_waited_for_no_more(void **state)
{
    (void)state;
    struct script s;
    assert_non_null(beside(&s, "none", 50 * MB, 250 * MB, 250 * MB, false));
    script_end(&s);
    assert_null(beside(&s, "none", 50 * MB, 250 * MB, 200 * MB, false));
    script_end(&s);
    assert_non_null(beside(&s, "none", 50 * MB, 250 * MB, 200 * MB, true));
    script_end(&s);
}

/* What others take of the downlink is not there for us: 125 MB take 4 s of a quarter. */
static void test_a_downlink_that_others_fill_is_slower(void **state)
{
    (void)state;
    struct script s;
    struct event load = {.kind = EVENT_HOST_LOAD};
    load.host_load.resource = LOAD_DOWNLINK;
    for (uint32_t permille = 750; permille <= 1000; permille += 250) {
        begin(&s, "added", "none");
        load.host_load.permille = permille;
        script_event(&s, load);
        submit_readers(&s, 1, 2, false, 1, 125 * MB);
        map_ends(&s, 1);
        assert_int_equal(script_start(&s, 1, 1, 0)->left, SECOND);
        assert_int_equal(script_start(&s, 1, 1, 1)->left,
                         SECOND + (permille < 1000 ? 4 : 1000) * SECOND);
        script_end(&s);
    }
}

static const char *fact(const struct engine_explanation *e, const char *name)
{
    for (uint32_t i = 0; i < e->facts; i++)
        if (strcmp(e->fact[i].name, name) == 0)
            return e->fact[i].value;
    return NULL;
}

static void test_explain_has_the_numbers_compared(void **state)
{
    (void)state;
    struct script s;
    struct engine_explanation e;
    meet(&s, "added", 2500000000);
    assert_int_equal(engine_explain(s.engine, 1, 1, 1, &e), 0);
    assert_non_null(strstr(e.text, "it was predicted to take 2.0 s there, alone it takes 1.0 s."));
    assert_non_null(strstr(e.text, " Of the time that was predicted its input was to wait 1.0 s "
                                   "behind what was received there as urgently or more."));
    assert_string_equal(fact(&e, "downlink_wait"), "1.0 s");
    assert_string_equal(fact(&e, "runner_up_1"), "2/0: 4.0 s predicted, 4.0 s alone, 0.5 s ahead");
    script_end(&s);
    meet(&s, "behind", 2500000000);
    assert_int_equal(engine_explain(s.engine, 2, 0, 0, &e), 0);
    assert_string_equal(fact(&e, "downlink_wait"), "0.0 s");
    assert_string_equal(fact(&e, "runner_up_1"), "1/1: 2.0 s predicted (1.0 s for its downlink), "
                                                 "1.0 s alone, 0.0 s ahead");
    script_end(&s);
    meet(&s, NULL, 1500000000);
    assert_int_equal(engine_explain(s.engine, 1, 1, 1, &e), 0);
    assert_null(fact(&e, "downlink_wait"));
    assert_null(strstr(e.text, "its input"));
    script_end(&s);
}

static bool dump_has(const struct script *s, const char *words)
{
    struct lines lines = {0};
    assert_int_equal(engine_dump(s->engine, lines_keep, &lines), 0);
    bool has = memmem(lines.text, lines.used, words, strlen(words)) != NULL;
    free(lines.text);
    return has;
}

/* By default the word is not written either, so that recordings stay as they were. */
static void test_the_default_is_not_written(void **state)
{
    (void)state;
    struct script s;
    assert_int_equal(engine_parameter("downlink")->preset, 0);
    meet(&s, NULL, 1500000000);
    assert_false(dump_has(&s, "word=downlink"));
    assert_int_equal(script_parameter(&s, "downlink", 2), REASON_NONE);
    assert_true(dump_has(&s, "word=downlink"));
    script_end(&s);
}

static void test_bad_values_are_one_sentence(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    struct err err = {0};
    int64_t value = 7;
    assert_int_equal(engine_config_say(&config, "downlink", 3, &err), -ERANGE);
    assert_string_equal(err.text, "downlink is 3, it must be 0 to 2");
    assert_int_equal(engine_choice_find(engine_parameter("downlink"), "near", &value, &err),
                     -EINVAL);
    assert_string_equal(err.text, "'near' is none of: alike, added, behind");
    assert_int_equal(value, 7);
    begin(&s, NULL, "none");
    assert_int_not_equal(script_parameter(&s, "downlink", -1), REASON_NONE);
    assert_int_equal(engine_value(s.engine, "downlink"), 0);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_loaded_downlink_moves_the_choice),
        cmocka_unit_test(test_a_wait_delays_on_a_gpu),
        cmocka_unit_test(test_only_what_is_as_urgent_is_waited_for),
        cmocka_unit_test(test_what_was_received_is_waited_for_no_more),
        cmocka_unit_test(test_a_downlink_that_others_fill_is_slower),
        cmocka_unit_test(test_explain_has_the_numbers_compared),
        cmocka_unit_test(test_the_default_is_not_written),
        cmocka_unit_test(test_bad_values_are_one_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
