/* Users in the engine: who is known, whose jobs count as whose, and what a dump keeps. */
#include "tests/model/script.h"
#include "tests/model/script_dump.h"

#include <errno.h>

static void begin(struct script *s, bool refuse)
{
    struct engine_config config = script_config();
    config.refuse_unknown_users = refuse;
    config.framework_jobs_max = 10;
    script_begin(s, &config);
    s->reload = true;
}

static void begin_job(struct script *s, uint64_t job, uint32_t user)
{
    char name[16];
    snprintf(name, sizeof(name), "job%u", (unsigned)job);
    struct event event = script_begin_event(job, name);
    event.job_begin.user = user;
    script_event(s, event);
}

/* A framework's job, told of again and again. */
static void tell_job(struct script *s, uint64_t job, uint32_t user)
{
    struct event event = {.kind = EVENT_FRAMEWORK_JOB};
    event.framework_job.job = job;
    event.framework_job.name = "app";
    event.framework_job.user = user;
    script_event(s, event);
}

static void check(const struct script *s, uint32_t user, const char *name, uint32_t share,
                  uint64_t jobs, bool leaves)
{
    struct user_view view;
    assert_int_equal(engine_user_from(s->engine, user, &view), 0);
    assert_int_equal(view.user, user);
    assert_string_equal(view.name, name);
    assert_int_equal(view.share, share);
    assert_int_equal(view.jobs, jobs);
    assert_int_equal(view.leaves, leaves);
}

static void check_gone(const struct script *s, uint32_t user)
{
    struct user_view view;
    assert_true(engine_user_from(s->engine, user, &view) < 0 || view.user != user);
}

static void test_jobs_count_as_their_users(void **state)
{
    struct script s;
    struct job_view job;
    (void)state;
    begin(&s, false);
    begin_job(&s, 1, 7);
    check(&s, 0, "everybody", 1, 1, false);
    s.now_ns = 3 * SECOND;
    script_user(&s, 7, "ann", 5);
    check(&s, 0, "everybody", 1, 0, false);
    check(&s, 7, "ann", 5, 1, false);
    begin_job(&s, 2, 8);
    begin_job(&s, 3, 7);
    tell_job(&s, UINT64_C(5) << ENGINE_APPLICATION_SHIFT, 7);
    tell_job(&s, UINT64_C(5) << ENGINE_APPLICATION_SHIFT, 7);
    check(&s, 0, "everybody", 1, 1, false);
    check(&s, 7, "ann", 5, 3, false);
    tell_job(&s, UINT64_C(5) << ENGINE_APPLICATION_SHIFT, 9);
    check(&s, 0, "everybody", 1, 2, false);
    check(&s, 7, "ann", 5, 2, false);
    assert_int_equal(engine_job(s.engine, 2, &job), 0);
    assert_int_equal(job.user, 8);
    struct user_view view;
    assert_int_equal(engine_user_named(s.engine, "ann", &view), 0);
    assert_int_equal(view.since_ns, 3 * SECOND);
    assert_int_equal(engine_user_named(s.engine, "bob", &view), -ENOENT);
    script_end(&s);
}

static void test_a_user_leaves_with_its_last_job(void **state)
{
    struct script s;
    (void)state;
    begin(&s, false);
    script_user(&s, 7, "ann", 5);
    script_user(&s, 8, "bob", 5);
    script_user_leave(&s, 8);
    check_gone(&s, 8);
    begin_job(&s, 1, 7);
    tell_job(&s, UINT64_C(5) << ENGINE_APPLICATION_SHIFT, 7);
    script_user_leave(&s, 7);
    check(&s, 7, "ann", 5, 2, true);
    begin_job(&s, 2, 7);
    assert_int_equal(script_rejection(&s), REASON_UNKNOWN_USER);
    /* Facts are never refused. */
    tell_job(&s, UINT64_C(6) << ENGINE_APPLICATION_SHIFT, 7);
    tell_job(&s, UINT64_C(6) << ENGINE_APPLICATION_SHIFT, 0);
    tell_job(&s, UINT64_C(5) << ENGINE_APPLICATION_SHIFT, 7);
    script_cancel(&s, 1);
    check(&s, 7, "ann", 5, 1, true);
    tell_job(&s, UINT64_C(5) << ENGINE_APPLICATION_SHIFT, 0);
    check_gone(&s, 7);
    begin_job(&s, 2, 7);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    script_end(&s);
}

static void test_a_user_that_is_set_again_stays(void **state)
{
    struct script s;
    (void)state;
    begin(&s, false);
    script_user(&s, 7, "ann", 5);
    begin_job(&s, 1, 7);
    script_user_leave(&s, 7);
    script_user(&s, 7, "anna", 6);
    check(&s, 7, "anna", 6, 1, false);
    script_cancel(&s, 1);
    check(&s, 7, "anna", 6, 0, false);
    script_end(&s);
}

static void test_unknown_users_are_refused_where_that_is_said(void **state)
{
    struct script s;
    (void)state;
    begin(&s, true);
    begin_job(&s, 1, 7);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    script_user(&s, 8, "bob", 1);
    begin_job(&s, 2, 7);
    assert_int_equal(script_rejection(&s), REASON_UNKNOWN_USER);
    begin_job(&s, 3, 8);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    begin_job(&s, 4, 0);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    check(&s, 0, "everybody", 1, 2, false);
    script_end(&s);
}

static void test_what_is_rejected_changes_nothing(void **state)
{
    struct script s;
    (void)state;
    begin(&s, false);
    script_user(&s, 7, "ann", 5);
    char longer[ENGINE_NAME_MAX + 1];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[ENGINE_NAME_MAX] = '\0';
    const struct {
        uint32_t user, share;
        const char *name;
        enum reason reason;
    } cases[] = {
        {7, 0, "ann", REASON_BAD_VALUE},       {7, (1u << 31) + 1, "ann", REASON_BAD_VALUE},
        {7, 1, "", REASON_BAD_VALUE},          {7, 1, NULL, REASON_BAD_VALUE},
        {7, 1, longer, REASON_BAD_VALUE},      {8, 1, "ann", REASON_NAME_TAKEN},
        {7, 1, "everybody", REASON_NAME_TAKEN}};
    uint64_t before = engine_digest(s.engine);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        script_user(&s, cases[i].user, cases[i].name, cases[i].share);
        assert_int_equal(script_rejection(&s), cases[i].reason);
    }
    script_user_leave(&s, 0);
    assert_int_equal(script_rejection(&s), REASON_BAD_STATE);
    script_user_leave(&s, 8);
    assert_int_equal(script_rejection(&s), REASON_UNKNOWN_USER);
    assert_int_equal(engine_digest(s.engine), before);
    script_end(&s);
}

static void test_there_is_a_bound(void **state)
{
    struct script s;
    (void)state;
    begin(&s, false);
    s.reload = false;
    char name[16];
    for (uint32_t user = 1; user <= ENGINE_USERS_MAX; user++) {
        snprintf(name, sizeof(name), "user%u", user);
        script_user(&s, user, name, 1 + user % 200);
        assert_int_equal(script_rejection(&s),
                         user < ENGINE_USERS_MAX ? REASON_NONE : REASON_TABLE_FULL);
    }
    struct engine *copy = load_dump_of(s.engine);
    assert_int_equal(engine_digest(copy), engine_digest(s.engine));
    engine_destroy(copy);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_count_as_their_users),
        cmocka_unit_test(test_a_user_leaves_with_its_last_job),
        cmocka_unit_test(test_a_user_that_is_set_again_stays),
        cmocka_unit_test(test_unknown_users_are_refused_where_that_is_said),
        cmocka_unit_test(test_what_is_rejected_changes_nothing),
        cmocka_unit_test(test_there_is_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
