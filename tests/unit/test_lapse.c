/* Applications that let their allows lapse get fewer at a time; those that use them are not
 * bounded. */
#include "tests/model/script.h"

enum { SLOTS = 8, SPARED = 4, ALLOW_S = 5 };
#define APPLICATION(n) ((uint64_t)(n) << ENGINE_APPLICATION_SHIFT)
#define FIRST_NUMBER   (UINT64_C(1) << 63)

static const char *const places[] = {"greedy", "nats", "delay", "neat", "joint", "random"};

static void begin_of_keys(struct script *s, const char *place, bool of_keys)
{
    struct engine_config config = script_config();
    strcpy(config.place, place);
    config.memory_max = config.framework_memory_max = 1 << 30;
    config.framework_jobs_max = 1000;
    config.step_starts_max = 64;
    config.lapses_spared = SPARED;
    config.lapses_of_keys = of_keys;
    script_begin(s, &config);
    s->reload = true;
    script_host(s, 0, SLOTS / 2);
    script_host(s, 1, SLOTS / 2);
}

static void begin(struct script *s, const char *place)
{
    begin_of_keys(s, place, false);
}

static void owner(struct script *s, uint64_t application, uint64_t user, bool away)
{
    struct event e = {.kind = EVENT_FRAMEWORK_OWNER};
    e.framework_owner.application = application;
    e.framework_owner.user = user;
    e.framework_owner.key = 1;
    e.framework_owner.tells = away ? OWNER_AWAY : OWNER_THERE;
    script_event(s, e);
}

/* Wakes it until nothing is due at this time. */
static void run_on(struct script *s)
{
    while (engine_deadline_ns(s->engine) <= s->now_ns)
        script_events(s, NULL, 0);
}

static void pass(struct script *s, int64_t ns)
{
    const int64_t until_ns = s->now_ns + ns;
    while (engine_deadline_ns(s->engine) <= until_ns) {
        if (engine_deadline_ns(s->engine) > s->now_ns)
            s->now_ns = engine_deadline_ns(s->engine);
        script_events(s, NULL, 0);
    }
    s->now_ns = until_ns;
}

static uint64_t allowed_of(const struct script *s, uint64_t application)
{
    struct attempt_view view = {0};
    uint64_t n = 0;
    while (engine_attempt_after(s->engine, view.attempt, &view) == 0)
        n += view.allow && view.job >> ENGINE_APPLICATION_SHIFT == application;
    return n;
}

/* Starts one that is allowed, and says that it is done. */
static bool use_one(struct script *s, uint64_t application, uint64_t *number)
{
    struct attempt_view view = {0};
    while (engine_attempt_after(s->engine, view.attempt, &view) == 0)
        if (view.allow && view.job >> ENGINE_APPLICATION_SHIFT == application) {
            struct event e = {.kind = EVENT_FRAMEWORK_STARTED};
            e.framework_task.attempt = FIRST_NUMBER + ++*number;
            e.framework_task.allow = view.attempt;
            e.framework_task.job = view.job;
            e.framework_task.stage = view.stage;
            e.framework_task.task = view.task;
            e.framework_task.host = view.host;
            e.framework_task.phase = ATTEMPT_STARTED;
            e.framework_task.resources.amount[RES_SLOTS] = 1;
            script_event(s, e);
            e.kind = EVENT_FRAMEWORK_DONE;
            script_event(s, e);
            run_on(s);
            return true;
        }
    return false;
}

static void who_uses_none_gets_fewer_and_in_the_end_one(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
        struct script s;
        uint64_t number = 0;
        begin(&s, places[p]);
        owner(&s, 1, 7, false);
        owner(&s, 2, 8, false);
        script_offer(&s, APPLICATION(1), 100);
        run_on(&s);
        assert_int_equal(allowed_of(&s, 1), SLOTS);
        script_offer(&s, APPLICATION(2), 20);
        assert_int_equal(allowed_of(&s, 2), 0);
        pass(&s, (ALLOW_S + 1) * SECOND);
        assert_int_equal(allowed_of(&s, 1), 1);
        assert_int_equal(allowed_of(&s, 2), SLOTS - 1);
        for (int i = 0; i < 20; i++)
            assert_true(use_one(&s, 2, &number)); /* the other one has all that is left */
        for (int round = 0; round < 3; round++) {
            pass(&s, ALLOW_S * SECOND);
            assert_int_equal(allowed_of(&s, 1), 1);
        }
        script_end(&s);
    }
}

static void each_that_is_used_doubles_that(void **state)
{
    struct script s;
    uint64_t number = 0, most = 1;
    (void)state;
    begin(&s, "greedy");
    owner(&s, 1, 7, false);
    script_offer(&s, APPLICATION(1), 200);
    pass(&s, (ALLOW_S + 1) * SECOND);
    for (int i = 0; i < 5; i++, most *= 2) {
        assert_int_equal(allowed_of(&s, 1), most < SLOTS ? most : SLOTS);
        assert_true(use_one(&s, 1, &number));
    }
    for (int i = 0; i < 40; i++)
        assert_true(use_one(&s, 1, &number));
    assert_int_equal(allowed_of(&s, 1), SLOTS);
    script_end(&s);
}

/* So many were used before, so many may lapse. */
static void who_uses_most_is_never_bounded(void **state)
{
    struct script s;
    uint64_t number = 0;
    (void)state;
    begin(&s, "greedy");
    owner(&s, 1, 7, false);
    script_offer(&s, APPLICATION(1), 200);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 100 && allowed_of(&s, 1) == SLOTS && i < SLOTS; i++)
            assert_true(use_one(&s, 1, &number));
        assert_int_equal(allowed_of(&s, 1), SLOTS);
        while (allowed_of(&s, 1) > SPARED) { /* all but so many are used */
            struct attempt_view view = {0};
            while (engine_attempt_after(s.engine, view.attempt, &view) == 0 && !view.allow)
                ;
            struct event e = {.kind = EVENT_FRAMEWORK_STARTED};
            e.framework_task = (typeof(e.framework_task)){.attempt = FIRST_NUMBER + ++number,
                                                          .allow = view.attempt,
                                                          .job = view.job,
                                                          .stage = view.stage,
                                                          .task = view.task,
                                                          .host = view.host,
                                                          .phase = ATTEMPT_STARTED,
                                                          .resources = {{1}}};
            script_event(&s, e);
        }
        pass(&s, (ALLOW_S + 1) * SECOND);
        assert_int_equal(allowed_of(&s, 1), SPARED);
        for (uint64_t n = number; n > number - (SLOTS - SPARED); n--)
            script_attempt(&s, EVENT_ATTEMPT_DONE, FIRST_NUMBER + n, 0);
    }
    script_end(&s);
}

static void other_names_and_jobs_are_no_new_start(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "greedy");
    owner(&s, 1, 7, false);
    script_offer(&s, APPLICATION(1), 100);
    pass(&s, (ALLOW_S + 1) * SECOND);
    for (uint64_t n = 2; n < 10; n++) {
        owner(&s, n, 7, false);
        script_offer(&s, APPLICATION(n), 100);
    }
    for (int round = 0; round < 5; round++) {
        uint64_t all = 0;
        run_on(&s);
        for (uint64_t n = 1; n < 10; n++)
            all += allowed_of(&s, n);
        assert_int_equal(all, 1);
        pass(&s, ALLOW_S * SECOND);
    }
    owner(&s, 20, 8, false); /* another user is another matter */
    script_offer(&s, APPLICATION(20), 100);
    assert_int_equal(allowed_of(&s, 20), SLOTS - 1);
    script_end(&s);
}

/* The users are its word. */
static void a_key_has_no_new_start_by_another_user(void **state)
{
    struct script s;
    uint64_t number = 0;
    (void)state;
    begin_of_keys(&s, "greedy", true);
    owner(&s, 1, 7, false);
    script_offer(&s, APPLICATION(1), 100);
    pass(&s, (ALLOW_S + 1) * SECOND);
    for (uint64_t n = 2; n < 6; n++) {
        owner(&s, n, 100 + n, false);
        script_offer(&s, APPLICATION(n), 100);
        run_on(&s);
        assert_int_equal(allowed_of(&s, n), 1);
    }
    for (int i = 0; i < 3; i++) /* and an honest one has all that is left soon */
        assert_true(use_one(&s, 5, &number));
    assert_true(allowed_of(&s, 5) >= SLOTS - 5);
    script_end(&s);
}

/* Who uses what it is allowed gives no other user of its key a bad start. */
static void an_honest_key_bounds_no_new_user(void **state)
{
    struct script s;
    uint64_t number = 0;
    (void)state;
    begin_of_keys(&s, "greedy", true);
    owner(&s, 1, 7, false);
    script_offer(&s, APPLICATION(1), 2 * SLOTS);
    for (int i = 0; i < 2 * SLOTS - SPARED; i++)
        assert_true(use_one(&s, 1, &number));
    pass(&s, (ALLOW_S + 1) * SECOND); /* the rest lapses, and is spared */
    script_framework_end(&s, APPLICATION(1));
    owner(&s, 2, 8, false);
    script_offer(&s, APPLICATION(2), 100);
    run_on(&s);
    assert_int_equal(allowed_of(&s, 2), SLOTS);
    script_end(&s);
}

/* Before its time is over, and comes again. */
static void a_job_that_ends_with_its_allows_lets_them_lapse(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "nats");
    owner(&s, 1, 7, false);
    owner(&s, 2, 8, false);
    for (uint64_t job = 1; job < 5; job++) {
        script_offer(&s, APPLICATION(1) | job, 100);
        if (job == 2)
            script_offer(&s, APPLICATION(2), 100);
        run_on(&s);
        assert_int_equal(allowed_of(&s, 1), job == 1 ? SLOTS : job == 2 ? 1 : 0);
        pass(&s, SECOND);
        script_framework_end(&s, APPLICATION(1) | job);
    }
    assert_true(allowed_of(&s, 2) >= SLOTS - 1);
    script_end(&s);
}

/* Its jobs stay; it is allowed nothing until it is back. */
static void who_has_no_session_is_allowed_nothing(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
        struct script s;
        struct engine_explanation e;
        uint64_t number = 0;
        begin(&s, places[p]);
        owner(&s, 1, 7, false);
        owner(&s, 2, 7, false);
        script_offer(&s, APPLICATION(1), 100);
        run_on(&s);
        owner(&s, 1, 7, true);
        pass(&s, (ALLOW_S + 1) * SECOND);
        assert_int_equal(allowed_of(&s, 1), 0);
        assert_int_equal(engine_explain(s.engine, APPLICATION(1), 0, 0, &e), 0);
        assert_non_null(strstr(e.text, "no session"));
        script_offer(&s, APPLICATION(2), 10);
        assert_true(allowed_of(&s, 2) >= 1);
        owner(&s, 1, 7, false);
        script_offer(&s, APPLICATION(1), 100);
        while (use_one(&s, 2, &number))
            ;
        assert_true(allowed_of(&s, 1) >= 1);
        script_end(&s);
    }
}

static void it_is_said(void **state)
{
    struct script s;
    struct engine_explanation e;
    (void)state;
    begin(&s, "joint");
    owner(&s, 1, 7, false);
    script_offer(&s, APPLICATION(1), 100);
    pass(&s, (ALLOW_S + 1) * SECOND);
    uint32_t told = 0;
    for (uint32_t t = 0; t < 100; t++) {
        struct task_view task;
        engine_task(s.engine, APPLICATION(1), 0, t, &task);
        if (task.state != TASK_READY)
            continue;
        assert_int_equal(engine_explain(s.engine, APPLICATION(1), 0, t, &e), 0);
        told += strstr(e.text, "let 8 allows lapse without a start, so it may have 1 at a time") !=
                NULL;
    }
    assert_int_equal(told, 99);
    script_end(&s);
}

/* As in logs of before. */
static void nothing_is_counted_where_the_configuration_says_nothing(void **state)
{
    struct script s;
    struct engine_config config = script_config();
    (void)state;
    strcpy(config.place, "greedy");
    config.memory_max = config.framework_memory_max = 1 << 30;
    config.framework_jobs_max = 1000;
    script_begin(&s, &config);
    s.reload = true;
    script_host(&s, 0, SLOTS);
    owner(&s, 1, 7, false);
    script_offer(&s, APPLICATION(1), 100);
    for (int round = 0; round < 5; round++) {
        pass(&s, ALLOW_S * SECOND);
        assert_int_equal(allowed_of(&s, 1), SLOTS);
    }
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_uses_none_gets_fewer_and_in_the_end_one),
        cmocka_unit_test(each_that_is_used_doubles_that),
        cmocka_unit_test(who_uses_most_is_never_bounded),
        cmocka_unit_test(other_names_and_jobs_are_no_new_start),
        cmocka_unit_test(a_key_has_no_new_start_by_another_user),
        cmocka_unit_test(an_honest_key_bounds_no_new_user),
        cmocka_unit_test(a_job_that_ends_with_its_allows_lets_them_lapse),
        cmocka_unit_test(who_has_no_session_is_allowed_nothing),
        cmocka_unit_test(it_is_said),
        cmocka_unit_test(nothing_is_counted_where_the_configuration_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
