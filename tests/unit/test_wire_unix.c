/* The Unix socket: who may, how many, and what becomes of clients that do not read or say
 * nothing. */
#include "tests/unit/test.h"

#include "lib/client.h"
#include "lib/wire_unix.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define IDLE_NS UINT64_C(60000000000)

/* The server runs its loop in a thread of its own; the test is the client. */
static struct {
    sd_event *loop;
    struct wire_unix *server;
    pthread_t thread;
    int stop[2];
    char folder[32], path[64];
    int closed;
    uint64_t flood; /* messages to send to whoever asks for a status */
    duopoly_Envelope answer;
} fixture;

static void on_message(void *user, uint64_t client, const duopoly_Envelope *request)
{
    duopoly_Envelope *answer = &fixture.answer;
    (void)user;
    switch (request->which_body) {
    case duopoly_Envelope_get_status_tag:
        for (uint64_t i = 0; i < fixture.flood; i++) {
            wire_begin(answer, duopoly_Envelope_job_event_tag)->body.job_event.job = i + 1;
            if (wire_unix_send(fixture.server, client, answer) < 0)
                return;
        }
        wire_begin(answer, duopoly_Envelope_status_tag)->body.status.epoch = 7;
        break;
    case duopoly_Envelope_watch_tag:
        wire_unix_watch(fixture.server, client);
        wire_begin(answer, duopoly_Envelope_accepted_tag);
        break;
    case duopoly_Envelope_cancel_job_tag:
        wire_begin(answer, duopoly_Envelope_refused_tag)->body.refused.reason =
            duopoly_Reason_REASON_UNKNOWN;
        strcpy(answer->body.refused.text, "there is no job 5");
        break;
    default:
        wire_begin(answer, duopoly_Envelope_acknowledge_tag);
    }
    wire_unix_send(fixture.server, client, answer);
    if (request->which_body == duopoly_Envelope_drain_host_tag)
        wire_unix_disconnect(fixture.server, client);
}

static void on_close(void *user, uint64_t client)
{
    (void)user, (void)client;
    __atomic_add_fetch(&fixture.closed, 1, __ATOMIC_SEQ_CST);
}

static int on_stop(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    (void)fd, (void)revents, (void)user;
    return sd_event_exit(sd_event_source_get_event(source), 0);
}

static void *run(void *user)
{
    (void)user;
    sd_event_loop(fixture.loop);
    return NULL;
}

static const struct wire_unix_groups nobody = {"duopoly", "nobody has this"};

static int server_open_with(const char *group, uint64_t idle_ns)
{
    struct wire_unix_handler handler = {
        .on_message = on_message, .on_close = on_close, .user = NULL};
    struct err err;
    strcpy(fixture.folder, "/tmp/duopoly-unix-XXXXXX");
    assert_non_null(mkdtemp(fixture.folder));
    snprintf(fixture.path, sizeof(fixture.path), "%s/s", fixture.folder);
    fixture.flood = 0;
    fixture.closed = 0;
    assert_true(sd_event_new(&fixture.loop) >= 0);
    const struct wire_unix_groups groups = {group, "nobody has this"};
    if (wire_unix_listen(fixture.loop, fixture.path, &groups, idle_ns, &handler, &fixture.server,
                         &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(pipe(fixture.stop), 0);
    assert_true(sd_event_add_io(fixture.loop, NULL, fixture.stop[0], EPOLLIN, on_stop, NULL) >= 0);
    assert_int_equal(pthread_create(&fixture.thread, NULL, run, NULL), 0);
    return 0;
}

static int server_open(void **state)
{
    (void)state;
    return server_open_with("duopoly", IDLE_NS);
}

static int impatient_server_open(void **state)
{
    (void)state;
    return server_open_with("duopoly", IDLE_NS / 300);
}

static int server_of_nogroup_open(void **state)
{
    (void)state;
    return server_open_with("nogroup", IDLE_NS);
}

static int server_close(void **state)
{
    (void)state;
    assert_true(write(fixture.stop[1], "x", 1) == 1);
    pthread_join(fixture.thread, NULL);
    wire_unix_close(fixture.server);
    sd_event_unref(fixture.loop);
    close(fixture.stop[0]);
    close(fixture.stop[1]);
    assert_int_not_equal(access(fixture.path, F_OK), 0);
    assert_int_equal(rmdir(fixture.folder), 0);
    return 0;
}

static struct client *client_new(void)
{
    struct client *client;
    struct err err;
    if (client_open(fixture.path, &client, &err) < 0)
        fail_msg("%s", err.text);
    return client;
}

static void closed_wait(int wanted)
{
    for (int i = 0; i < 10000 && __atomic_load_n(&fixture.closed, __ATOMIC_SEQ_CST) < wanted; i++)
        usleep(1000);
    assert_int_equal(__atomic_load_n(&fixture.closed, __ATOMIC_SEQ_CST), wanted);
}

static void requests_are_answered(void **state)
{
    (void)state;
    const duopoly_Envelope *answer;
    struct err err;
    struct client *client = client_new();
    client_request(client, duopoly_Envelope_get_status_tag);
    assert_int_equal(client_call(client, duopoly_Envelope_status_tag, &answer, &err), 0);
    assert_int_equal(answer->body.status.epoch, 7);
    client_request(client, duopoly_Envelope_cancel_job_tag);
    assert_int_equal(client_call(client, duopoly_Envelope_accepted_tag, &answer, &err), -EREMOTEIO);
    assert_string_equal(err.text, "there is no job 5");
    assert_int_equal(client_refusal(client), duopoly_Reason_REASON_UNKNOWN);
    client_request(client, duopoly_Envelope_list_tag);
    assert_int_equal(client_call(client, duopoly_Envelope_page_tag, &answer, &err), -EPROTO);
    client_close(client);
    closed_wait(1);
    struct stat status;
    assert_int_equal(stat(fixture.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, getgrnam("duopoly") ? 0660 : 0600);
}

static void events_keep_their_order_beside_answers(void **state)
{
    (void)state;
    const duopoly_Envelope *answer;
    duopoly_JobEvent event;
    struct err err;
    struct client *client = client_new();
    fixture.flood = 700;
    assert_int_equal(client_watch(client, 0, &err), 0);
    client_request(client, duopoly_Envelope_get_status_tag);
    assert_int_equal(client_call(client, duopoly_Envelope_status_tag, &answer, &err), 0);
    for (uint64_t i = 1; i <= 700; i++) {
        assert_int_equal(client_event(client, 0, &event, &err), 0);
        assert_int_equal(event.job, i);
    }
    assert_int_equal(client_event(client, 0, &event, &err), -ETIMEDOUT);
    client_close(client);
}

/* One that does not read is closed when its queue is full, and the others do not notice. */
static void a_slow_client_is_closed(void **state)
{
    (void)state;
    const duopoly_Envelope *answer;
    struct err err;
    struct client *slow = client_new(), *other = client_new();
    fixture.flood = 100000;
    client_request(slow, duopoly_Envelope_get_status_tag);
    assert_int_equal(client_send(slow, &err), 0);
    closed_wait(1);
    fixture.flood = 0;
    client_request(other, duopoly_Envelope_get_status_tag);
    assert_int_equal(client_call(other, duopoly_Envelope_status_tag, &answer, &err), 0);
    assert_int_equal(wire_unix_counters(fixture.server)->slow_clients, 1);
    client_close(slow);
    client_close(other);
}

static void disconnected_clients_get_the_last_answer(void **state)
{
    (void)state;
    const duopoly_Envelope *answer;
    struct err err;
    struct client *client = client_new();
    client_request(client, duopoly_Envelope_drain_host_tag);
    assert_int_equal(client_call(client, duopoly_Envelope_acknowledge_tag, &answer, &err), 0);
    closed_wait(1);
    client_request(client, duopoly_Envelope_get_status_tag);
    assert_int_equal(client_call(client, duopoly_Envelope_status_tag, &answer, &err), -ECONNRESET);
    assert_int_equal(client_reopen(client, &err), 0);
    client_request(client, duopoly_Envelope_get_status_tag);
    assert_int_equal(client_call(client, duopoly_Envelope_status_tag, &answer, &err), 0);
    client_close(client);
}

static void garbage_is_refused(void **state)
{
    (void)state;
    const duopoly_Envelope *answer;
    struct err err;
    struct client *client = client_new();
    assert_true(send(client_fd(client), "\xff\xff\xff", 3, 0) == 3);
    assert_int_equal(client_answer(client, duopoly_Envelope_status_tag, &answer, &err), -EREMOTEIO);
    assert_int_equal(client_refusal(client), duopoly_Reason_REASON_MALFORMED);
    closed_wait(1);
    client_close(client);
}

static void clients_are_bounded(void **state)
{
    (void)state;
    const duopoly_Envelope *answer;
    struct err err;
    static struct client *clients[UNIX_CLIENTS + 1];
    for (int i = 0; i <= UNIX_CLIENTS; i++) {
        clients[i] = client_new();
        client_request(clients[i], duopoly_Envelope_get_status_tag);
        int r = client_call(clients[i], duopoly_Envelope_status_tag, &answer, &err);
        assert_true(i < UNIX_CLIENTS ? r == 0 : r == -EREMOTEIO || r == -ECONNRESET);
    }
    for (int i = 0; i <= UNIX_CLIENTS; i++)
        client_close(clients[i]);
    closed_wait(UNIX_CLIENTS);
}

static bool is_served(struct client *client)
{
    const duopoly_Envelope *answer;
    client_request(client, duopoly_Envelope_get_status_tag);
    return client_call(client, duopoly_Envelope_status_tag, &answer, NULL) == 0;
}

static void idle_clients_are_closed_and_watchers_are_not(void **state)
{
    (void)state;
    struct err err;
    struct client *idle = client_new(), *busy = client_new(), *watcher = client_new();
    assert_int_equal(client_watch(watcher, 0, &err), 0);
    for (int i = 0; i < 1000 && __atomic_load_n(&fixture.closed, __ATOMIC_SEQ_CST) < 1; i++) {
        assert_true(is_served(busy));
        usleep(10000);
    }
    assert_int_equal(wire_unix_counters(fixture.server)->idle_clients, 1);
    assert_false(is_served(idle));
    assert_true(is_served(busy));
    assert_true(is_served(watcher));
    client_close(idle);
    client_close(busy);
    client_close(watcher);
    closed_wait(3);
}

/* As somebody of the socket's group who is not root. */
static struct client *member_new(uid_t uid)
{
    struct client *client = NULL;
    gid_t group = getgrnam("nogroup")->gr_gid;
    assert_int_equal(setegid(group), 0);
    assert_int_equal(seteuid(uid), 0);
    int r = client_open(fixture.path, &client, NULL);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    return r < 0 ? NULL : client;
}

/* One user has a quarter of the places, and all of them leave some to root. */
static void the_last_places_are_roots(void **state)
{
    (void)state;
    static struct client *members[2 * UNIX_CLIENTS];
    int served = 0;
    if (geteuid() != 0)
        skip_since("another user is needed: only root can be one");
    assert_int_equal(chmod(fixture.folder, 0755), 0);
    for (int i = 0; i < 2 * UNIX_CLIENTS; i++) {
        int user = i / (UNIX_CLIENTS / 2);
        assert_non_null(members[i] = member_new(65534 - (uid_t)user));
        served += is_served(members[i]);
        if (i == UNIX_CLIENTS / 2 - 1)
            assert_int_equal(served, UNIX_CLIENTS / 4);
    }
    assert_int_equal(served, UNIX_CLIENTS * 15 / 16);
    struct client *root = client_new();
    assert_true(is_served(root));
    client_close(root);
    for (int i = 0; i < 2 * UNIX_CLIENTS; i++)
        client_close(members[i]);
    closed_wait(served + 1);
}

static void strangers_are_refused(void **state)
{
    (void)state;
    struct client *client;
    struct err err;
    if (geteuid() != 0)
        skip_since("another user is needed: only root can be one");
    assert_int_equal(chmod(fixture.folder, 0755), 0);
    assert_int_equal(seteuid(65534), 0);
    int r = client_open(fixture.path, &client, &err);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(r, -EACCES);
    assert_int_equal(chmod(fixture.path, 0666), 0);
    assert_int_equal(seteuid(65534), 0);
    r = client_open(fixture.path, &client, &err);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(r, 0);
    const duopoly_Envelope *answer;
    assert_int_equal(client_answer(client, duopoly_Envelope_status_tag, &answer, &err), -EREMOTEIO);
    assert_int_equal(client_refusal(client), duopoly_Reason_REASON_PERMISSION);
    client_close(client);
}

static void a_socket_in_use_is_not_taken(void **state)
{
    (void)state;
    struct wire_unix_handler handler = {
        .on_message = on_message, .on_close = on_close, .user = NULL};
    struct wire_unix *second;
    struct err err;
    sd_event *loop;
    assert_true(sd_event_new(&loop) >= 0);
    assert_int_equal(
        wire_unix_listen(loop, fixture.path, &nobody, IDLE_NS, &handler, &second, &err),
        -EADDRINUSE);
    assert_int_equal(
        wire_unix_listen(loop, fixture.folder, &nobody, IDLE_NS, &handler, &second, &err),
        -EADDRINUSE);
    assert_int_equal(access(fixture.path, F_OK), 0);

    char left[64];
    snprintf(left, sizeof(left), "%s/left", fixture.folder);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, left);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    assert_int_equal(wire_unix_listen(loop, left, &nobody, IDLE_NS, &handler, &second, &err), 0);
    wire_unix_close(second);
    sd_event_unref(loop);
}

static void absent_controllers_are_told(void **state)
{
    (void)state;
    struct client *client;
    struct err err;
    assert_int_equal(client_open("/nowhere/at/all", &client, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nowhere/at/all"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, server_open, server_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(requests_are_answered),
        CASE(events_keep_their_order_beside_answers),
        CASE(a_slow_client_is_closed),
        CASE(disconnected_clients_get_the_last_answer),
        CASE(garbage_is_refused),
        CASE(clients_are_bounded),
        cmocka_unit_test_setup_teardown(idle_clients_are_closed_and_watchers_are_not,
                                        impatient_server_open, server_close),
        cmocka_unit_test_setup_teardown(the_last_places_are_roots, server_of_nogroup_open,
                                        server_close),
        CASE(strangers_are_refused),
        CASE(a_socket_in_use_is_not_taken),
        cmocka_unit_test(absent_controllers_are_told),
    };
    return cmocka_run_group_tests_name("wire_unix", tests, NULL, NULL);
}
