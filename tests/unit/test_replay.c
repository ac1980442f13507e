/* The replay's tasks and servers: pure parts, one fetch against one server, connections that
 * break, a server that lies, and a whole task in a process of its own. */
#include "tests/unit/deadline.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "testbed/replay/exchange.h"
#include "testbed/replay/fetch.h"
#include "testbed/replay/input.h"
#include "testbed/replay/progress.h"
#include "testbed/replay/registry.h"
#include "testbed/replay/serve.h"
#include "testbed/replay/stream.h"
#include "testbed/replay/task.h"

#define DEADLINE_USEC 20000000u

static void test_a_stream_is_the_same_from_any_offset(void **state)
{
    (void)state;
    uint64_t random = test_seed();
    const struct stream_key key = {test_random(&random), 0, 3, 1, 7};
    uint8_t whole[4096], part[4096];
    stream_fill(stream_seed(&key), 0, whole, sizeof(whole));
    for (int i = 0; i < 1000; i++) {
        size_t offset = test_random(&random) % sizeof(whole);
        size_t size = test_random(&random) % (sizeof(whole) - offset + 1);
        stream_fill(stream_seed(&key), offset, part, size);
        assert_memory_equal(whole + offset, part, size);
    }
}

static void test_every_member_of_a_key_changes_the_stream(void **state)
{
    (void)state;
    const struct stream_key keys[] = {{1, 2, 3, 4, 5}, {2, 2, 3, 4, 5}, {1, 3, 3, 4, 5},
                                      {1, 2, 4, 4, 5}, {1, 2, 3, 5, 5}, {1, 2, 3, 4, 6}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(stream_seed(&keys[i]), stream_seed(&keys[j]));
}

static void test_requests_and_answers_survive_the_wire(void **state)
{
    (void)state;
    const struct exchange_request request = {EXCHANGE_FETCH, {1, 2, 3, 4, 5}, 6, 700, 70};
    const struct exchange_answer answer = {EXCHANGE_HERE, 630};
    struct exchange_request request_again;
    struct exchange_answer answer_again;
    uint8_t bytes[EXCHANGE_REQUEST_SIZE];
    exchange_encode_request(&request, bytes);
    assert_true(exchange_decode_request(bytes, &request_again));
    assert_memory_equal(&request.key, &request_again.key, sizeof(request.key));
    assert_int_equal(request_again.attempt, 6);
    assert_int_equal(request_again.bytes, 700);
    assert_int_equal(request_again.offset, 70);
    bytes[0] ^= 1;
    assert_false(exchange_decode_request(bytes, &request_again));
    struct exchange_request over = request;
    over.offset = 701;
    exchange_encode_request(&over, bytes);
    assert_false(exchange_decode_request(bytes, &request_again));
    exchange_encode_answer(&answer, bytes);
    assert_true(exchange_decode_answer(bytes, &answer_again));
    assert_int_equal(answer_again.bytes, 630);
    bytes[4] = 3;
    assert_false(exchange_decode_answer(bytes, &answer_again));
}

static void test_an_input_file_is_read(void **state)
{
    (void)state;
    static const char text[] =
        "duopoly-task-input 1\njob 12\nstage 1\ntask 3\nattempt 4294967297\ncompute_ns 25500000\n"
        "output_bytes 4000000\nnewer words here\ninput 10.77.0.5 4000000 block\n"
        "input 10.77.0.3 1500000 map 0 2 4294967290\ninput 10.77.0.3 1 map 0 1 4294967291\n";
    struct input input;
    struct err err = {0};
    assert_int_equal(input_parse(text, strlen(text), "in", &input, &err), 0);
    assert_int_equal(input.attempt, 4294967297);
    assert_int_equal(input.compute_ns, 25500000);
    assert_int_equal(input.n_parts, 3);
    assert_string_equal(input.parts[0].address, "10.77.0.3");
    assert_int_equal(input.parts[0].task, 1);
    assert_int_equal(input.parts[1].attempt, 4294967290);
    assert_true(input.parts[2].block);
    input_done(&input);
}

static void test_wrong_input_files_are_refused_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "no line"},
        {"duopoly-task-input 2\n", "no line"},
        {"duopoly-task-input 1\njob x\n", "in:2"},
        {"duopoly-task-input 1\njob -1\n", "in:2"},
        {"duopoly-task-input 1\nstage 4294967296\n", "in:2"},
        {"duopoly-task-input 1\ninput host 1 block\n", "in:2"},
        {"duopoly-task-input 1\n\ninput 10.0.0.1 99999999999999999999 block\n", "in:3"},
        {"duopoly-task-input 1\ninput 10.0.0.1 5 map 0 1\n", "in:2"},
        {"duopoly-task-input 1\ninput 10.0.0.1 5 disk\n", "in:2"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct input input;
        struct err err = {0};
        assert_int_equal(input_parse(cases[i].text, strlen(cases[i].text), "in", &input, &err),
                         -EINVAL);
        if (!strstr(err.text, cases[i].words))
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].words);
    }
}

static void test_damaged_input_files_are_refused_or_read(void **state)
{
    (void)state;
    static const char text[] =
        "duopoly-task-input 1\njob 12\nstage 1\ntask 3\nattempt 4294967297\n"
        "input 10.77.0.5 4000000 block\ninput 10.77.0.3 1500000 map 0 2 4294967290\n";
    uint64_t stream = test_seed();
    for (int round = 0; round < 20000; round++) {
        char damaged[sizeof(text)];
        struct input input;
        struct err err = {0};
        memcpy(damaged, text, sizeof(text));
        for (uint64_t damages = 1 + test_random(&stream) % 3; damages > 0; damages--)
            damaged[test_random(&stream) % (sizeof(text) - 1)] = (char)test_random(&stream);
        if (input_parse(damaged, sizeof(text) - 1, "in", &input, &err) == 0)
            input_done(&input);
        else
            assert_true(err.text[0] != 0);
    }
}

static void test_the_time_left_is_a_guess_from_pace_and_arrivals(void **state)
{
    (void)state;
    const int64_t s = 1000000000;
    struct progress progress = {.jobs = 10, .bytes = 1000, .last_arrival_ns = 40 * (uint64_t)s};
    assert_int_equal(progress_left_ns(&progress, 10 * (uint64_t)s), 30 * s);
    assert_int_equal(progress_left_ns(&progress, 50 * (uint64_t)s), -1);
    progress.bytes_done = 500;
    assert_int_equal(progress_left_ns(&progress, 50 * (uint64_t)s), 50 * s);
    progress.bytes_done = 999;
    assert_int_equal(progress_left_ns(&progress, 10 * (uint64_t)s), 30 * s);
    progress.bytes_done = 1000;
    assert_int_equal(progress_left_ns(&progress, 50 * (uint64_t)s), 0);
}

struct scene {
    char directory[64];
    sd_event *event;
    struct serve *serve;
    uint16_t port;
    struct input input;
    struct fetch *fetch;
    unsigned n_connecting, n_opened, n_closed, n_first, n_missing, n_finished, n_stalled, n_flows;
    struct err err;
    int socket, child_status;
};

static void count_connecting(void *context, const struct ports_connection *c)
{
    struct scene *scene = context;
    assert_int_equal(c->peer_port, scene->port);
    assert_int_not_equal(c->local_port, 0);
    assert_string_equal(c->local, "127.0.0.1");
    scene->n_connecting++;
}

static void count_opened(void *context, const struct ports_connection *c)
{
    struct scene *scene = context;
    assert_int_equal(c->peer_port, scene->port);
    scene->n_opened++;
}

static void count_first(void *context, const struct ports_connection *c)
{
    struct scene *scene = context;
    assert_int_equal(c->peer_port, scene->port);
    assert_in_range(scene->n_opened, 1, scene->n_connecting);
    scene->n_first++;
}

static void count_closed(void *context, const struct ports_connection *c)
{
    (void)c;
    ((struct scene *)context)->n_closed++;
}

static void count_missing(void *context, const struct input_part *part)
{
    (void)part;
    ((struct scene *)context)->n_missing++;
}

/* The second time the server comes up. */
static void on_stalled(void *context, const char *address, unsigned others)
{
    struct scene *scene = context;
    struct err err = {0};
    assert_string_equal(address, "127.0.0.1");
    assert_int_equal(others, 0);
    if (++scene->n_stalled == 2 &&
        serve_create(scene->event, scene->port, scene->directory, &scene->serve, &err) < 0)
        fail_msg("%s", err.text);
}

static void on_flows(void *context, const char *address)
{
    struct scene *scene = context;
    assert_string_equal(address, "127.0.0.1");
    assert_true(scene->n_stalled >= 2);
    scene->n_flows++;
}

static void on_finished(void *context, const struct err *err)
{
    struct scene *scene = context;
    scene->n_finished++;
    if (err)
        scene->err = *err;
    sd_event_exit(scene->event, 0);
}

static void set_up(struct scene *scene, const char *input)
{
    struct err err = {0};
    *scene = (struct scene){.directory = "/tmp/duopoly-test-XXXXXX", .socket = -1};
    assert_non_null(mkdtemp(scene->directory));
    assert_int_equal(sd_event_new(&scene->event), 0);
    deadline_set(scene->event, DEADLINE_USEC);
    if (serve_create(scene->event, 0, scene->directory, &scene->serve, &err) < 0)
        fail_msg("%s", err.text);
    scene->port = serve_port(scene->serve);
    if (input_parse(input, strlen(input), "in", &scene->input, &err) < 0)
        fail_msg("%s", err.text);
}

static void tear_down(struct scene *scene)
{
    char command[128];
    fetch_destroy(scene->fetch);
    serve_destroy(scene->serve);
    sd_event_unref(scene->event);
    input_done(&scene->input);
    snprintf(command, sizeof(command), "rm -r %s", scene->directory);
    assert_int_equal(system(command), 0);
}

/* Leaves the output of an attempt of stage 0 of job 1, as a map does. */
static void hold_output(struct scene *scene, uint32_t task, uint64_t attempt)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/1-0-%u-%llu", scene->directory, task,
             (unsigned long long)attempt);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void start_fetch(struct scene *scene)
{
    const struct fetch_listener listener = {scene,        count_connecting, count_opened,
                                            count_closed, count_first,      count_missing,
                                            on_stalled,   on_flows,         on_finished};
    struct err err = {0};
    if (fetch_create(scene->event, &scene->input, scene->port, &listener, &scene->fetch, &err) < 0)
        fail_msg("%s", err.text);
}

#define TASK "duopoly-task-input 1\njob 1\nstage 1\ntask 5\nattempt 9\n"

static void test_all_parts_arrive_over_one_connection_a_source(void **state)
{
    (void)state;
    struct scene scene;
    set_up(
        &scene, TASK
        "input 127.0.0.1 3000001 map 0 0 1\ninput 127.0.0.2 70000 map 0 1 2\n"
        "input 127.0.0.1 0 map 0 2 3\ninput 127.0.0.1 12345 block\ninput 127.0.0.3 0 map 0 3 4\n");
    for (uint32_t task = 0; task < 4; task++)
        hold_output(&scene, task, task + 1);
    start_fetch(&scene);
    assert_true(sd_event_loop(scene.event) >= 0);
    assert_int_equal(scene.err.code, 0);
    assert_int_equal(scene.n_finished, 1);
    assert_int_equal(scene.n_connecting, 2);
    assert_int_equal(scene.n_opened, 2);
    assert_int_equal(scene.n_closed, 2);
    assert_int_equal(scene.n_first, 1);
    tear_down(&scene);
}

/* Nobody listens there: that is told, and again after a while; and when the source speaks. */
static void test_a_source_that_gives_nothing_is_told_of(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, TASK "stall_ms 60\ninput 127.0.0.1 30001 map 0 0 1\n");
    hold_output(&scene, 0, 1);
    serve_destroy(scene.serve);
    scene.serve = NULL;
    start_fetch(&scene);
    assert_true(sd_event_loop(scene.event) >= 0);
    assert_int_equal(scene.err.code, 0);
    assert_true(scene.n_stalled >= 2); /* more where the machine is slow */
    assert_int_equal(scene.n_flows, 1);
    tear_down(&scene);
}

static void test_an_empty_input_is_finished_at_once(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, TASK);
    start_fetch(&scene);
    assert_int_equal(scene.n_finished, 0);
    assert_true(sd_event_loop(scene.event) >= 0);
    assert_int_equal(scene.err.code, 0);
    assert_int_equal(scene.n_opened, 0);
    tear_down(&scene);
}

static void test_only_the_exact_attempt_that_ran_here_is_served(void **state)
{
    (void)state;
    struct scene scene;
    char path[128];
    set_up(&scene, TASK "input 127.0.0.1 5000000 map 0 0 1\ninput 127.0.0.1 100 map 0 1 8\n"
                        "input 127.0.0.2 100 map 0 2 3\ninput 127.0.0.2 100 map 0 3 4\n");
    hold_output(&scene, 0, 1);
    hold_output(&scene, 1, 2); /* another attempt than asked for */
    hold_output(&scene, 3, 4);
    /* The agent forgot this job's output. */
    snprintf(path, sizeof(path), "%s/1-0-3-4", scene.directory);
    assert_int_equal(rmdir(path), 0);
    start_fetch(&scene);
    assert_true(sd_event_loop(scene.event) >= 0);
    assert_int_equal(scene.err.code, ENOENT);
    assert_int_equal(scene.n_missing, 3);
    assert_int_equal(scene.n_finished, 1);
    tear_down(&scene);
}

static int break_server(sd_event_source *s, uint64_t usec, void *context)
{
    struct scene *scene = context;
    struct err err = {0};
    serve_destroy(scene->serve);
    scene->serve = NULL;
    if (serve_create(scene->event, scene->port, scene->directory, &scene->serve, &err) < 0)
        fail_msg("%s", err.text);
    if (scene->n_opened < 4)
        sd_event_source_set_time(s, usec + 20000);
    return 0;
}

static void test_a_broken_transfer_goes_on_where_it_was(void **state)
{
    (void)state;
    struct scene scene;
    sd_event_source *timer = NULL;
    /* So much that it cannot be through before the first break. */
    set_up(&scene, TASK "input 127.0.0.1 250000000 map 0 0 1\n");
    hold_output(&scene, 0, 1);
    start_fetch(&scene);
    assert_true(sd_event_add_time_relative(scene.event, &timer, CLOCK_MONOTONIC, 20000, 1,
                                           break_server, &scene) >= 0);
    assert_true(sd_event_loop(scene.event) >= 0);
    assert_int_equal(scene.err.code, 0);
    assert_in_range(scene.n_opened, 2, 1000);
    assert_int_equal(scene.n_opened, scene.n_closed);
    assert_int_equal(scene.n_first, 1);
    sd_event_source_disable_unref(timer);
    tear_down(&scene);
}

static int lie(sd_event_source *s, int fd, uint32_t events, void *context)
{
    const struct exchange_answer answer = {EXCHANGE_HERE, 0}, long_answer = {EXCHANGE_HERE, 1000};
    uint8_t bytes[2 * EXCHANGE_ANSWER_SIZE + 1000];
    (void)s;
    (void)events;
    int peer = accept(fd, NULL, NULL);
    if (peer < 0)
        return 0;
    *(int *)context = peer;
    stream_fill(stream_seed(&(struct stream_key){1, 0, 0, 1, 5}), 0,
                bytes + 2 * EXCHANGE_ANSWER_SIZE, 1000);
    bytes[sizeof(bytes) - 1] ^= 1;
    exchange_encode_answer(&answer, bytes);
    exchange_encode_answer(&long_answer, bytes + EXCHANGE_ANSWER_SIZE);
    assert_int_equal(send(peer, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
    return 0;
}

static void test_one_wrong_bit_is_noticed(void **state)
{
    (void)state;
    struct scene scene;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), peer = -1;
    sd_event_source *io = NULL;
    set_up(&scene, TASK "input 127.0.0.1 1000 map 0 0 1\n");
    assert_true(bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 5) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    scene.port = ntohs(address.sin_port);
    assert_true(sd_event_add_io(scene.event, &io, fd, EPOLLIN, lie, &peer) >= 0);
    start_fetch(&scene);
    assert_true(sd_event_loop(scene.event) >= 0);
    assert_int_equal(scene.err.code, EBADMSG);
    assert_non_null(strstr(scene.err.text, "hash"));
    sd_event_source_disable_unref(io);
    close(peer);
    close(fd);
    tear_down(&scene);
}

static int on_child(sd_event_source *s, const siginfo_t *info, void *context)
{
    struct scene *scene = context;
    (void)s;
    scene->child_status = info->si_status;
    return sd_event_exit(scene->event, 0);
}

static void child_run(struct scene *scene, int socket)
{
    char text[128], ports[128];
    const struct task_options options = {.port = scene->port, .ports = ports};
    struct err err = {0};
    snprintf(ports, sizeof(ports), "%s/ports", scene->directory);
    mkdir(ports, 0755);
    snprintf(text, sizeof(text), "%d", socket);
    setenv("DUOPOLY_TASK_SOCKET", text, 1);
    snprintf(text, sizeof(text), "%s/input", scene->directory);
    setenv("DUOPOLY_TASK_INPUT", text, 1);
    snprintf(text, sizeof(text), "%s/1-1-5-9", scene->directory);
    setenv("DUOPOLY_TASK_OUTPUT", text, 1);
    _exit(replay_task_run(&options, &err) < 0 ? 1 : 0);
}

/* Runs a task on the input file `text`; afterwards scene->socket holds what it said. */
static void run_task(struct scene *scene, const char *text)
{
    int sockets[2];
    char path[128];
    sigset_t set;
    snprintf(path, sizeof(path), "%s/input", scene->directory);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
    pid_t child = fork();
    if (child == 0)
        child_run(scene, sockets[1]);
    close(sockets[1]);
    scene->socket = sockets[0];
    assert_true(child > 0 &&
                sd_event_add_child(scene->event, NULL, child, WEXITED, on_child, scene) >= 0);
    assert_true(sd_event_loop(scene->event) >= 0);
}

static void assert_said(struct scene *scene, const char *words)
{
    char text[512] = {0};
    assert_true(recv(scene->socket, text, sizeof(text) - 1, 0) >= 0);
    if (strncmp(text, words, strlen(words)) != 0)
        fail_msg("it said \"%s\", not \"%s\"", text, words);
}

static void test_a_task_fetches_computes_and_leaves_its_output(void **state)
{
    (void)state;
    struct scene scene;
    char path[128], line[256];
    set_up(&scene, TASK);
    hold_output(&scene, 0, 1);
    run_task(&scene, TASK "compute_ns 1000000\noutput_bytes 7\ninput 127.0.0.1 100000 map 0 0 1\n");
    assert_int_equal(scene.child_status, 0);
    assert_said(&scene, "connection 127.0.0.1 ");
    assert_said(&scene, "received");
    assert_said(&scene, "done");
    assert_said(&scene, "");
    assert_true(registry_has(scene.directory, &(struct registry_output){1, 1, 5, 9}));
    snprintf(path, sizeof(path), "%s/ports/1-1-5-9", scene.directory);
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    static const char *const said[] = {"connect", "open", "first", "close"};
    for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
        snprintf(path, sizeof(path), "%s 127.0.0.1 ", said[i]);
        assert_non_null(fgets(line, sizeof(line), in));
        assert_memory_equal(line, path, strlen(path));
    }
    fclose(in);
    close(scene.socket);
    tear_down(&scene);
}

static void test_a_task_says_what_is_missing_and_fails(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, TASK);
    run_task(&scene, TASK "input 127.0.0.1 100000 map 0 0 77\n");
    assert_int_equal(scene.child_status, 1);
    assert_said(&scene, "connection 127.0.0.1 ");
    assert_said(&scene, "missing 0 0 77 127.0.0.1");
    assert_said(&scene, "");
    close(scene.socket);
    tear_down(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_is_the_same_from_any_offset),
        cmocka_unit_test(test_every_member_of_a_key_changes_the_stream),
        cmocka_unit_test(test_requests_and_answers_survive_the_wire),
        cmocka_unit_test(test_an_input_file_is_read),
        cmocka_unit_test(test_wrong_input_files_are_refused_with_their_line),
        cmocka_unit_test(test_damaged_input_files_are_refused_or_read),
        cmocka_unit_test(test_the_time_left_is_a_guess_from_pace_and_arrivals),
        cmocka_unit_test(test_all_parts_arrive_over_one_connection_a_source),
        cmocka_unit_test(test_a_source_that_gives_nothing_is_told_of),
        cmocka_unit_test(test_an_empty_input_is_finished_at_once),
        cmocka_unit_test(test_only_the_exact_attempt_that_ran_here_is_served),
        cmocka_unit_test(test_a_broken_transfer_goes_on_where_it_was),
        cmocka_unit_test(test_one_wrong_bit_is_noticed),
        cmocka_unit_test(test_a_task_fetches_computes_and_leaves_its_output),
        cmocka_unit_test(test_a_task_says_what_is_missing_and_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
