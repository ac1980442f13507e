/* States and changes: what is asked, and what is refused. */
#include "tests/unit/whatif_cases.h"

#include "testbed/sim/cluster/submission.h"

#include <errno.h>

static void expect(const struct answer *answer, double one_s, double two_s, double three_s)
{
    if (fabs(left_s(answer, 1) - one_s) > 1e-6 || fabs(left_s(answer, 2) - two_s) > 1e-6 ||
        fabs(left_s(answer, 3) - three_s) > 1e-6)
        fail_msg("ends in %.6f, %.6f, %.6f s", left_s(answer, 1), left_s(answer, 2),
                 left_s(answer, 3));
}

static void test_another_policy(void **state)
{
    struct photo photo = one_slot("fifo");
    struct state read = state_of(&photo);
    struct whatif_change change = nothing;
    struct whatif_difference differences[4];
    struct err err = {0};
    (void)state;
    assert_int_equal(whatif_read_policies(read.engine, "turn=sjf", &change, &err), 0);
    state_done(&read);
    struct answer as_it_is = ask(&photo, &nothing), changed = ask(&photo, &change);
    expect(&as_it_is, 1.5, 5.5, 6.5);
    expect(&changed, 1.5, 6.5, 2.5);
    assert_int_equal(whatif_compare(&as_it_is.side, &changed.side, differences, 4), 2);
    assert_int_equal(differences[0].job, 2);
    assert_int_equal(differences[0].as_it_is.at_ns, 1500 * MS);
    assert_int_equal(differences[0].changed.at_ns, 2500 * MS);
    assert_int_equal(differences[1].job, 3);
    assert_int_equal(whatif_compare(&as_it_is.side, &as_it_is.side, differences, 4), 0);
    answer_done(&as_it_is);
    answer_done(&changed);
    whatif_change_done(&change);
    free(photo.text);
}

/* Its name is that of one that is there. */
static void test_another_job(void **state)
{
    struct photo photo = one_slot("sjf");
    struct whatif_change change = nothing;
    (void)state;
    change.jobs = calloc(1, sizeof(*change.jobs));
    change.jobs[change.n_jobs++] =
        job_of("{\"id\":1,\"name\":\"two\",\"arrival_ms\":0,\"stages\":[{\"tasks\":1,"
               "\"compute_ms\":2000}]}");
    struct answer as_it_is = ask(&photo, &nothing), changed = ask(&photo, &change);
    expect(&as_it_is, 1.5, 6.5, 2.5);
    expect(&changed, 1.5, 8.5, 2.5);
    assert_int_equal(changed.side.n_jobs, 4);
    assert_true(fabs(changed.side.left_s[3] - 4.5) < 1e-6);
    answer_done(&as_it_is);
    answer_done(&changed);
    whatif_change_done(&change);
    free(photo.text);
}

/* The only host goes down: its jobs have no end, and that is said. */
static void test_a_job_without_an_end(void **state)
{
    struct photo photo = one_slot("sjf");
    struct whatif_change change = nothing;
    (void)state;
    change.host = 0;
    struct answer answer = ask(&photo, &change);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(answer.side.ends[i], RUN_NEVER_ENDS);
    answer_done(&answer);
    free(photo.text);
}

/* A machine that has been up for longer than the 104 days that a run may take: one host of two
 * slots joined, one job submitted. `compute_ms` 0: unknown. */
static struct photo late_engine(unsigned compute_ms, int64_t now_ns, bool runs)
{
    char line[256];
    struct photo photo = {0};
    struct err err = {0};
    struct decisions decisions = {0};
    struct run_config config = config_of("duopoly", 1, 2, 8 * UNIT);
    struct engine *engine;
    const int64_t begin_ns = INT64_C(40000000) * 1000000000;
    static const uint64_t unit[ENGINE_RESOURCES] = {2};
    struct submission submission = {0};
    snprintf(line, sizeof(line),
             "{\"id\":1,\"name\":\"one\",\"stages\":[{\"tasks\":3,\"compute_ms\":%u}]}",
             compute_ms);
    struct workload_job job = job_of(line);
    assert_int_equal(engine_create(&config.engine, &engine, &err), 0);
    struct event join = {.kind = EVENT_HOST_JOIN};
    join.host_join.generation = 1;
    join.host_join.name = "w1";
    join.host_join.rack = "";
    join.host_join.labels = "";
    join.host_join.uplink_bps = join.host_join.downlink_bps = 8 * UNIT;
    join.host_join.units = (struct u64s){unit, ENGINE_RESOURCES};
    assert_int_equal(engine_step(engine, begin_ns, &join, 1, &decisions), 0);
    assert_int_equal(submission_make(&submission, &job, 1), 0);
    assert_int_equal(engine_step(engine, begin_ns, submission.events, submission.n, &decisions), 0);
    struct attempt_view view = {0};
    while (runs && engine_attempt_after(engine, view.attempt, &view) == 0) {
        struct event started = {.kind = EVENT_ATTEMPT_STARTED};
        started.attempt.attempt = view.attempt;
        assert_int_equal(engine_step(engine, begin_ns, &started, 1, &decisions), 0);
    }
    photo_take(&photo, engine, begin_ns + now_ns);
    submission_done(&submission);
    workload_job_done(&job);
    decisions_done(&decisions);
    engine_destroy(engine);
    return photo;
}

static void test_a_machine_that_is_up_for_long(void **state)
{
    struct photo photo = late_engine(1000, 400 * MS, true), sent = late_engine(1000, 0, false);
    (void)state;
    struct answer answer = ask(&photo, &nothing), begins = ask(&sent, &nothing);
    assert_true(fabs(left_s(&answer, 1) - 1.6) < 1e-6);
    assert_true(fabs(left_s(&begins, 1) - 2) < 1e-6);
    assert_int_equal(answer.side.assumed.attempts, 2);
    answer_done(&answer);
    answer_done(&begins);
    free(photo.text);
    free(sent.text);
}

/* Twice what has passed; and a task that takes longer than it was to ends now. */
static void test_what_is_not_known_is_counted(void **state)
{
    struct photo unknown = late_engine(0, 400 * MS, true), late = late_engine(300, 400 * MS, true),
                 idle = late_engine(0, 0, false);
    (void)state;
    struct answer guessed = ask(&unknown, &nothing), over = ask(&late, &nothing),
                  none = ask(&idle, &nothing);
    assert_int_equal(guessed.present.stages_guessed, 1);
    assert_true(fabs(left_s(&guessed, 1) - 1.2) < 1e-6);
    assert_int_equal(over.side.assumed.late, 2);
    assert_true(fabs(left_s(&over, 1) - 0.3) < 1e-6);
    assert_int_equal(none.present.stages_unknown, 1);
    answer_done(&guessed);
    answer_done(&over);
    answer_done(&none);
    free(unknown.text);
    free(late.text);
    free(idle.text);
}

/* One host sends 8 s of bytes to another: a state in the middle, with and without the report of
 * what came, and one of when it all had come. */
static struct photo one_transfer(int64_t at_ns, bool told)
{
    /* WHY job 1: so that job 2's task is away from its block. */
    struct workload_job jobs[2] = {
        job_of("{\"id\":1,\"stages\":[{\"tasks\":1,\"input_bytes\":1,\"replicas\":[[1]],"
               "\"compute_ms\":60000}]}"),
        job_of("{\"id\":2,\"stages\":[{\"tasks\":1,\"input_bytes\":8000000,\"replicas\":[[1]],"
               "\"compute_ms\":2000}]}")};
    double jct_s[2];
    struct photo photo = {.at_ns = at_ns};
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    strcpy(config.engine.place, "greedy");
    config.all_told = told;
    config.passes = time_passes;
    config.passer = &photo;
    simulate(&config, jobs, 2, jct_s);
    assert_true(fabs(jct_s[1] - 10) < 1e-6);
    for (int i = 0; i < 2; i++)
        workload_job_done(&jobs[i]);
    return photo;
}

static void test_what_is_left_of_a_transfer(void **state)
{
    struct photo told = one_transfer(4050 * MS, true), untold = one_transfer(4050 * MS, false),
                 computes = one_transfer(8500 * MS, true);
    (void)state;
    struct answer a = ask(&told, &nothing), b = ask(&untold, &nothing),
                  c = ask(&computes, &nothing);
    /* The last report was of 4.0 s. */
    assert_true(fabs(left_s(&a, 2) - 6) < 1e-3);
    assert_true(fabs(left_s(&b, 2) - 10) < 1e-3);
    assert_true(fabs(left_s(&c, 2) - 1.5) < 1e-6);
    answer_done(&a);
    answer_done(&b);
    answer_done(&c);
    free(told.text);
    free(untold.text);
    free(computes.text);
}

static void test_headers_take_their_part(void **state)
{
    struct photo photo = one_transfer(4050 * MS, true);
    (void)state;
    struct answer half = ask_with(&photo, &nothing, 0.5);
    assert_true(fabs(left_s(&half, 2) - 10) < 1e-3);
    answer_done(&half);
    free(photo.text);
}

/* Without the line that says when its input was there, a task has computed since its input could
 * have been there. */
static void test_since_when_it_computes_is_guessed(void **state)
{
    struct photo photo = one_transfer(9000 * MS, true);
    (void)state;
    for (char *line = strstr(photo.text, "\nreceived "); line;
         line = strstr(photo.text, "\nreceived ")) {
        char *end = strchr(line + 1, '\n');
        memmove(line, end, strlen(end) + 1);
    }
    photo.size = strlen(photo.text);
    struct answer answer = ask(&photo, &nothing);
    assert_int_equal(answer.side.assumed.since_guessed, 1);
    assert_true(fabs(left_s(&answer, 2) - 1) < 1e-6);
    answer_done(&answer);
    free(photo.text);
}

static void expect_refused(const char *text, size_t size, const char *words)
{
    struct state state;
    struct err err = {0};
    assert_true(read_text(text, size, &state, &err) < 0);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    state_done(&state);
}

static void test_bad_states_are_refused(void **state)
{
    struct photo photo = one_slot("sjf");
    (void)state;
    static const char other[] = "duopoly-log 2\n";
    expect_refused(other, strlen(other), "line 1: this is no state of this version");
    expect_refused(photo.text, photo.size - strlen("end state\n"), "torn");
    /* Wherever it is cut, it is refused: line by line. */
    for (size_t cut = 1; cut + strlen("end state\n") <= photo.size; cut += 13) {
        struct state read;
        struct err err = {0};
        int r = read_text(photo.text, cut, &read, &err);
        const char *now = strstr(photo.text, "\nnow ");
        /* Before the line of its time it is how a recording begins, and that may end anywhere. */
        bool whole = cut > (size_t)(strstr(photo.text, "\nbegin") - photo.text) &&
                     cut <= (size_t)(now - photo.text) + 5;
        if (!whole && !r)
            fail_msg("a state that is cut after %zu bytes is taken", cut);
        state_done(&read);
    }
    char *wrong = strstr(photo.text, "dump clock ");
    memcpy(wrong, "dump clok  ", strlen("dump clok  "));
    expect_refused(photo.text, photo.size, "clok");
    free(photo.text);
}

static void test_bad_changes_are_refused(void **state)
{
    static const struct {
        const char *policy, *words;
    } wrong[] = {{"turn=nats", "turn has no policy 'nats'"},
                 {"nonsense", "no preset and not QUESTION=NAME"},
                 {"colour=red", "no preset and not QUESTION=NAME"},
                 {"turn=fifo,turn=sjf", "asked for twice"},
                 {"", "no preset"}};
    struct photo photo = one_slot("sjf");
    struct state read = state_of(&photo);
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct whatif_change change = nothing;
        assert_int_equal(whatif_read_policies(read.engine, wrong[i].policy, &change, &err),
                         -EINVAL);
        if (!strstr(err.text, wrong[i].words))
            fail_msg("\"%s\" does not say \"%s\"", err.text, wrong[i].words);
    }
    struct whatif_change change = nothing;
    assert_int_equal(whatif_read_host(read.engine, "w9", &change, &err), -ENOENT);
    assert_non_null(strstr(err.text, "no host w9"));
    assert_int_equal(whatif_read_jobs(read.engine, "/nonexistent", &change, &err), -ENOENT);
    assert_int_equal(change.host, ENGINE_NONE);
    struct event lost = {.kind = EVENT_HOST_LOST};
    struct decisions decisions = {0};
    assert_int_equal(engine_step(read.engine, read.at_ns, &lost, 1, &decisions), 0);
    assert_int_equal(whatif_read_host(read.engine, "h0", &change, &err), -EINVAL);
    assert_non_null(strstr(err.text, "down already"));
    decisions_done(&decisions);
    state_done(&read);
    free(photo.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_policy),
        cmocka_unit_test(test_another_job),
        cmocka_unit_test(test_a_job_without_an_end),
        cmocka_unit_test(test_a_machine_that_is_up_for_long),
        cmocka_unit_test(test_what_is_not_known_is_counted),
        cmocka_unit_test(test_what_is_left_of_a_transfer),
        cmocka_unit_test(test_headers_take_their_part),
        cmocka_unit_test(test_since_when_it_computes_is_guessed),
        cmocka_unit_test(test_bad_states_are_refused),
        cmocka_unit_test(test_bad_changes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
