/* The replay's driver against a controller that a test plays on the Unix socket. */
#include "tests/unit/deadline.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>
#include <systemd/sd-event.h>

#include "lib/wire_unix.h"
#include "lib/workload/workload_file.h"
#include "testbed/replay/driver.h"

#define DEADLINE_USEC 20000000u
#define MS            1000000

/* A controller that takes every job and ends it at once: with `failed` every third one fails. */
struct scene {
    char directory[64], socket[128], workload[128], results[128], words[128];
    sd_event *event;
    struct wire_unix *server;
    bool some_fail, refuse, silent;
    uint64_t jobs, parts;
    char names[64][64];
    uint64_t submitted_ns[64];
    int child_status;
};

static uint64_t boottime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void say(struct scene *scene, uint64_t client, duopoly_Envelope *envelope)
{
    envelope->version = 1;
    assert_int_equal(wire_unix_send(scene->server, client, envelope), 0);
}

static void answer_credit(struct scene *scene, uint64_t client)
{
    duopoly_Envelope answer = {.which_body = duopoly_Envelope_submit_credit_tag};
    answer.body.submit_credit.parts = (uint32_t)++scene->parts;
    say(scene, client, &answer);
}

static void answer_end(struct scene *scene, uint64_t client)
{
    uint64_t job = ++scene->jobs;
    duopoly_Envelope answer = {.which_body = duopoly_Envelope_accepted_tag};
    duopoly_Envelope event = {.which_body = duopoly_Envelope_job_event_tag};
    answer.body.accepted.job = 100 + job;
    event.body.job_event.job = 100 + job;
    bool fails = scene->some_fail && job % 3 == 0;
    strcpy(event.body.job_event.state, fails ? "failed" : "done");
    if (fails) {
        strcpy(event.body.job_event.text, "no space left");
        strcpy(event.body.job_event.host, "w2");
        event.body.job_event.attempt = 77;
    }
    event.body.job_event.submitted_ns = boottime_ns();
    event.body.job_event.finished_ns = event.body.job_event.submitted_ns + 5;
    event.body.job_event.slot_wait_ns = 7;
    scene->parts = 0;
    /* The event may overtake the answer. */
    if (job % 2)
        say(scene, client, &event);
    say(scene, client, &answer);
    if (job % 2 == 0 && !scene->silent)
        say(scene, client, &event);
}

static void on_message(void *user, uint64_t client, const duopoly_Envelope *envelope)
{
    struct scene *scene = user;
    duopoly_Envelope answer = {.which_body = duopoly_Envelope_accepted_tag};
    switch (envelope->which_body) {
    case duopoly_Envelope_watch_tag:
        say(scene, client, &answer);
        return;
    case duopoly_Envelope_submit_begin_tag:
        assert_true(scene->jobs < 64);
        strcpy(scene->names[scene->jobs], envelope->body.submit_begin.name);
        scene->submitted_ns[scene->jobs] = boottime_ns();
        if (!scene->refuse) {
            answer_credit(scene, client);
            return;
        }
        answer.which_body = duopoly_Envelope_refused_tag;
        answer.body.refused.reason = duopoly_Reason_REASON_LIMIT;
        strcpy(answer.body.refused.text, "the table is full");
        say(scene, client, &answer);
        return;
    case duopoly_Envelope_submit_end_tag:
        answer_end(scene, client);
        return;
    default:
        answer_credit(scene, client);
    }
}

static void on_close(void *user, uint64_t client)
{
    (void)user;
    (void)client;
}

static int on_child(sd_event_source *s, const siginfo_t *info, void *context)
{
    struct scene *scene = context;
    (void)s;
    scene->child_status = info->si_status;
    return sd_event_exit(scene->event, 0);
}

static void set_up(struct scene *scene, const char *workload)
{
    const struct wire_unix_groups nobody = {"", ""};
    const struct wire_unix_handler handler = {
        .on_message = on_message, .on_close = on_close, .user = scene};
    struct err err = {0};
    sigset_t set;
    *scene = (struct scene){.directory = "/tmp/duopoly-test-XXXXXX"};
    assert_non_null(mkdtemp(scene->directory));
    snprintf(scene->socket, sizeof(scene->socket), "%s/socket", scene->directory);
    snprintf(scene->workload, sizeof(scene->workload), "%s/workload", scene->directory);
    snprintf(scene->results, sizeof(scene->results), "%s/results", scene->directory);
    snprintf(scene->words, sizeof(scene->words), "%s/words", scene->directory);
    FILE *out = fopen(scene->workload, "we");
    assert_non_null(out);
    fputs(workload, out);
    fclose(out);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    assert_int_equal(sd_event_new(&scene->event), 0);
    deadline_set(scene->event, DEADLINE_USEC);
    if (wire_unix_listen(scene->event, scene->socket, &nobody, UINT64_C(60000000000), &handler,
                         &scene->server, &err) < 0)
        fail_msg("%s", err.text);
}

static void tear_down(struct scene *scene)
{
    char command[128];
    wire_unix_close(scene->server);
    sd_event_unref(scene->event);
    snprintf(command, sizeof(command), "rm -r %s", scene->directory);
    assert_int_equal(system(command), 0);
}

/* What a driver of its own process returns: 0, 1 as is, and 2 for a failure, whose sentence goes to
 * the results. */
static void run_driver(struct scene *scene, uint64_t rounds, uint64_t patience_ns)
{
    pid_t child = fork();
    if (child == 0) {
        struct driver_options options = {.workload = scene->workload,
                                         .socket = scene->socket,
                                         .label = "test",
                                         .convert = workload_convert_defaults,
                                         .results = fopen(scene->results, "we"),
                                         .words = fopen(scene->words, "we"),
                                         .rounds = rounds,
                                         .patience_ns = patience_ns};
        struct err err = {0};
        options.convert.jobs = 0;
        int r = driver_run(&options, &err);
        if (r < 0)
            fprintf(options.results, "%s\n", err.text);
        fclose(options.results);
        fclose(options.words);
        _exit(r < 0 ? 2 : r);
    }
    assert_true(child > 0 &&
                sd_event_add_child(scene->event, NULL, child, WEXITED, on_child, scene) >= 0);
    assert_true(sd_event_loop(scene->event) >= 0);
}

/* Line `number` of a file, from 0; "" behind the end. */
static void read_file_line(const char *path, unsigned number, char *line, int size)
{
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    line[0] = 0;
    for (unsigned i = 0; i <= number; i++)
        if (!fgets(line, size, in))
            line[0] = 0;
    fclose(in);
}

static void read_line(struct scene *scene, unsigned number, char *line, int size)
{
    read_file_line(scene->results, number, line, size);
}

static json_t *read_row(struct scene *scene, unsigned number)
{
    char line[1024];
    read_line(scene, number, line, sizeof(line));
    json_t *row = json_loads(line, 0, NULL);
    if (!row)
        fail_msg("line %u of the results is \"%s\"", number, line);
    return row;
}

static int64_t row_number(json_t *row, const char *name)
{
    assert_true(json_is_integer(json_object_get(row, name)));
    return json_integer_value(json_object_get(row, name));
}

#define HEADER "{\"duopoly_workload\": 1, \"hosts\": 2, \"scale\": 10}\n"
#define JOB(id, ms)                                                                                \
    "{\"id\": " #id ", \"arrival_ms\": " #ms                                                       \
    ", \"stages\": [{\"tasks\": 2}, {\"tasks\": 1, \"parents\": "                                  \
    "[{\"stage\": 0, \"sums\": [50]}]}]}\n"

static void test_jobs_are_submitted_at_their_arrival(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, HEADER JOB(1, 0) JOB(2, 40) JOB(7, 40) JOB(4, 95.5));
    run_driver(&scene, 1, 0);
    assert_int_equal(scene.child_status, 0);
    json_t *start = read_row(&scene, 0);
    const int64_t start_ns = row_number(start, "start_ns");
    assert_int_equal(row_number(start, "scale"), 10);
    const int64_t arrivals[] = {0, 40 * MS, 40 * MS, 95500000}, ids[] = {1, 2, 7, 4};
    for (unsigned i = 0; i < 4; i++) {
        json_t *row = read_row(&scene, i + 1);
        assert_int_equal(row_number(row, "id"), ids[i]);
        assert_int_equal(row_number(row, "job"), 101 + i);
        assert_int_equal(row_number(row, "planned_ns"), start_ns + arrivals[i]);
        assert_int_equal(row_number(row, "bytes"), 50);
        assert_int_equal(row_number(row, "tasks"), 3);
        assert_int_equal(row_number(row, "slot_wait_ns"), 7);
        assert_true(scene.submitted_ns[i] >= (uint64_t)(start_ns + arrivals[i]));
        json_decref(row);
    }
    json_decref(start);
    tear_down(&scene);
}

static void test_failed_jobs_have_their_rows_and_show_in_the_end(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, HEADER JOB(1, 0) JOB(2, 0) JOB(3, 0));
    scene.some_fail = true;
    run_driver(&scene, 1, 0);
    assert_int_equal(scene.child_status, 1);
    json_t *row = read_row(&scene, 3);
    assert_string_equal(json_string_value(json_object_get(row, "state")), "failed");
    assert_string_equal(json_string_value(json_object_get(row, "reason")), "no space left");
    assert_string_equal(json_string_value(json_object_get(row, "host")), "w2");
    assert_int_equal(row_number(row, "attempt"), 77);
    json_decref(row);
    char line[128];
    read_file_line(scene.words, 0, line, sizeof(line));
    assert_non_null(strstr(line, " failed: no space left\n"));
    tear_down(&scene);
}

static void test_each_round_has_names_of_its_own(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, HEADER JOB(1, 0) JOB(2, 0));
    run_driver(&scene, 3, 0);
    assert_int_equal(scene.child_status, 0);
    assert_int_equal(scene.jobs, 6);
    for (unsigned i = 0; i < 6; i++)
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(scene.names[i], scene.names[j]);
    tear_down(&scene);
}

/* Of four rounds of one job the third's fails. */
static void test_a_round_tells_its_own_failures(void **state)
{
    (void)state;
    struct scene scene;
    char line[128];
    set_up(&scene, HEADER JOB(1, 0));
    scene.some_fail = true;
    run_driver(&scene, 4, 0);
    assert_int_equal(scene.child_status, 1);
    read_file_line(scene.words, 3, line, sizeof(line));
    assert_non_null(strstr(line, "1 of them FAILED"));
    read_file_line(scene.words, 4, line, sizeof(line));
    assert_true(*line && !strstr(line, "FAILED"));
    tear_down(&scene);
}

static void assert_fails_with(struct scene *scene, unsigned line_number, const char *words)
{
    char line[1024];
    assert_int_equal(scene->child_status, 2);
    read_line(scene, line_number, line, sizeof(line));
    if (!strstr(line, words))
        fail_msg("\"%s\" does not say \"%s\"", line, words);
}

static void test_a_wrong_workload_is_refused_before_anything_is_submitted(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, HEADER JOB(1, 0) JOB(1, 0));
    run_driver(&scene, 1, 0);
    assert_fails_with(&scene, 0, "workload:3: id 1 is there twice");
    assert_int_equal(scene.jobs, 0);
    tear_down(&scene);
}

static void test_a_refusal_ends_the_replay_with_the_controllers_sentence(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, HEADER JOB(1, 0));
    scene.refuse = true;
    run_driver(&scene, 1, 0);
    assert_fails_with(&scene, 1, "the table is full");
    tear_down(&scene);
}

static void test_patience_ends(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, HEADER JOB(1, 0) JOB(2, 0));
    scene.silent = true;
    run_driver(&scene, 1, 300 * (uint64_t)MS);
    assert_fails_with(&scene, 2, "no job has ended");
    tear_down(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_are_submitted_at_their_arrival),
        cmocka_unit_test(test_failed_jobs_have_their_rows_and_show_in_the_end),
        cmocka_unit_test(test_a_round_tells_its_own_failures),
        cmocka_unit_test(test_each_round_has_names_of_its_own),
        cmocka_unit_test(test_a_wrong_workload_is_refused_before_anything_is_submitted),
        cmocka_unit_test(test_a_refusal_ends_the_replay_with_the_controllers_sentence),
        cmocka_unit_test(test_patience_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
