/* duopoly-sim replay: a recorded run is decided again, and a changed record is found. */
#include "tests/model/script.h"

#include "controller/engine/base/record.h"
#include "testbed/sim/cluster/recording_replay.h"

/* Records what a script does, as the controller would. */
struct recording {
    FILE *file;
    char *text;
    size_t size;
};

static int write_dump_line(void *context, const char *line, size_t length)
{
    fprintf(context, "dump %.*s\n", (int)length, line);
    return 0;
}

static void record_step(struct recording *recording, struct script *s, const struct event *events,
                        size_t n)
{
    static char buffer[65536];
    fprintf(recording->file, "step %lld\n", (long long)s->now_ns);
    for (size_t i = 0; i < n; i++) {
        assert_true(record_encode_event(&events[i], buffer, sizeof(buffer)) > 0);
        fprintf(recording->file, "e %s\n", buffer);
    }
    script_events(s, events, n);
    for (size_t i = 0; i < s->decisions.n; i++) {
        assert_true(record_encode_decision(&s->decisions.at[i], buffer, sizeof(buffer)) > 0);
        fprintf(recording->file, "d %s\n", buffer);
    }
    fprintf(recording->file, "digest %016llx\n", (unsigned long long)engine_digest(s->engine));
}

/* Two hosts, jobs that arrive and finish; the log begins in the middle. The caller frees the
 * text. */
static char *record_a_run(void)
{
    struct recording recording = {0};
    struct script s;
    struct engine_config config = script_config();
    script_begin(&s, &config);
    script_host(&s, 0, 2);
    recording.file = open_memstream(&recording.text, &recording.size);
    fprintf(recording.file, "duopoly-log 1\n");
    engine_dump(s.engine, write_dump_line, recording.file);
    fprintf(recording.file, "begin 1\n");
    uint64_t vector[ENGINE_RESOURCES] = {2}, room[32];
    struct event join = script_join(1, 2, vector), events[8];
    record_step(&recording, &s, &join, 1);
    for (uint64_t j = 1; j <= 3; j++) {
        char name[32];
        static const uint32_t replicas[] = {0, 1};
        static const uint64_t sums[] = {1000, 2000};
        struct script_job job = {j, 2, 1, 2, replicas, 500, SECOND, 0, sums, 0};
        size_t n = script_job_events(&job, events, room, name, sizeof(name));
        s.now_ns += SECOND;
        record_step(&recording, &s, events, n);
    }
    struct attempt_view attempt;
    while (engine_attempt_after(s.engine, 0, &attempt) == 0) {
        struct event done = {.kind = EVENT_ATTEMPT_DONE};
        done.attempt.attempt = attempt.attempt;
        s.now_ns += SECOND;
        record_step(&recording, &s, &done, 1);
    }
    fprintf(recording.file, "end stopped\n");
    fclose(recording.file);
    script_end(&s);
    return recording.text;
}

static int replay(const char *text, struct recording_replay_result *result, struct err *err)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    int r = recording_replay(file, NULL, result, err);
    fclose(file);
    return r;
}

static void test_a_recorded_run_is_decided_again(void **state)
{
    (void)state;
    struct recording_replay_result result;
    struct err err = {0};
    char *text = record_a_run();
    if (replay(text, &result, &err) < 0)
        fail_msg("%s", err.text);
    if (result.first_difference_line)
        fail_msg("line %d: %s / %s", (int)result.first_difference_line, result.recorded,
                 result.decided);
    assert_int_equal(result.steps, 16);
    assert_int_equal(result.digests, 16);
    assert_true(result.decisions > 20);
    free(text);
}

static void test_a_changed_decision_is_found(void **state)
{
    (void)state;
    struct recording_replay_result result;
    struct err err = {0};
    char *text = record_a_run();
    char *start = strstr(text, "\nd start ");
    char *host = strstr(start, " host=");
    host[6] = host[6] == '0' ? '1' : '0';
    assert_int_equal(replay(text, &result, &err), 0);
    assert_true(result.first_difference_line > 0);
    assert_string_not_equal(result.recorded, result.decided);
    free(text);
}

static void test_a_missing_decision_is_found(void **state)
{
    (void)state;
    struct recording_replay_result result;
    struct err err = {0};
    char *text = record_a_run();
    char *start = strstr(text, "\nd start ") + 1, *next = strchr(start, '\n') + 1;
    memmove(start, next, strlen(next) + 1);
    assert_int_equal(replay(text, &result, &err), 0);
    assert_true(result.first_difference_line > 0);
    free(text);
}

static void test_a_torn_last_line_is_ignored(void **state)
{
    (void)state;
    struct recording_replay_result result;
    struct err err = {0};
    char *text = record_a_run();
    assert_int_equal(replay(text, &result, &err), 0);
    assert_false(result.torn);
    text[strlen(text) - 20] = 0;
    assert_int_equal(replay(text, &result, &err), 0);
    assert_int_equal(result.first_difference_line, 0);
    assert_true(result.torn);
    free(text);
}

/* Recorded when dumps had a policy's state among the engine's own (map_share, received_level and
 * draws); each begins in the middle of a run. */
static void test_logs_of_before_are_decided_again(void **state)
{
    (void)state;
    static const char *const logs[] = {"tests/recordings/nats-cans-even.log",
                                       "tests/recordings/greedy-dclas-fair.log",
                                       "tests/recordings/random-none-fifo.log"};
    for (size_t i = 0; i < sizeof(logs) / sizeof(*logs); i++) {
        struct recording_replay_result result;
        struct err err = {0};
        FILE *file = fopen(logs[i], "r");
        if (!file)
            fail_msg("%s cannot be read: run the test from the top of the tree", logs[i]);
        if (recording_replay(file, NULL, &result, &err) < 0)
            fail_msg("%s: %s", logs[i], err.text);
        fclose(file);
        if (result.first_difference_line)
            fail_msg("%s, line %d: %s / %s", logs[i], (int)result.first_difference_line,
                     result.recorded, result.decided);
        assert_int_equal(result.steps, 60);
        assert_int_equal(result.decisions, 48);
    }
}

static void test_what_is_not_a_log_is_refused(void **state)
{
    (void)state;
    struct recording_replay_result result;
    struct err err = {0};
    assert_true(replay("hello\n", &result, &err) < 0);
    assert_non_null(strstr(err.text, "line 1: the first line must be"));
    assert_true(replay("duopoly-log 1\ndump nonsense\n", &result, &err) < 0);
    assert_non_null(strstr(err.text, "begins with its configuration"));
    char *text = record_a_run();
    char *event = strstr(text, "\ne job_begin ");
    memcpy(event + 3, "job_began", 9);
    assert_true(replay(text, &result, &err) < 0);
    assert_non_null(strstr(err.text, "unknown kind of record \"job_began\""));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_recorded_run_is_decided_again),
        cmocka_unit_test(test_a_changed_decision_is_found),
        cmocka_unit_test(test_a_missing_decision_is_found),
        cmocka_unit_test(test_a_torn_last_line_is_ignored),
        cmocka_unit_test(test_logs_of_before_are_decided_again),
        cmocka_unit_test(test_what_is_not_a_log_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
