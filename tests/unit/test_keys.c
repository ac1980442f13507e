/* Key files, and who a CURVE listener lets in: real sockets, on loopback. */
#include "tests/unit/folder.h"

#include "lib/wire_zmq.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static sd_event *loop;
static struct key_pair own, next;
static struct key_file agent, stranger;
static char admitted[WIRE_USER_ID]; /* what the agent's key is called now; "": kept out */
static int admissions, refusals;
static duopoly_Envelope envelope;

struct end {
    struct wire_zmq *endpoint;
    uint64_t peer, gone;
    int messages, ups, downs, refused;
};
static struct end router, dealer;

static void router_message(void *user, uint64_t peer, const char *identity,
                           const duopoly_Envelope *message)
{
    (void)user, (void)message;
    assert_string_equal(identity, "w1/1");
    router.messages++;
    router.peer = peer;
}

static void dealer_message(void *user, uint64_t peer, const char *identity,
                           const duopoly_Envelope *message)
{
    (void)user, (void)peer, (void)identity, (void)message;
    dealer.messages++;
}

static void on_malformed(void *user, uint64_t peer, const struct err *err)
{
    (void)user, (void)peer;
    fail_msg("%s", err->text);
}

static void on_gone(void *user, uint64_t peer, bool cut)
{
    (void)user, (void)cut;
    router.gone = peer;
}

static void on_up(void *user)
{
    (void)user;
    dealer.ups++;
}

static void on_down(void *user)
{
    (void)user;
    dealer.downs++;
}

static void on_refused(void *user)
{
    (void)user;
    dealer.refused++;
}

static void admit(void *user, const char *public, const char *address,
                  char ret_identity[WIRE_USER_ID])
{
    (void)user;
    assert_string_equal(address, "127.0.0.1");
    strcpy(ret_identity, strcmp(public, agent.pair.public) == 0 ? admitted : "");
    *(*ret_identity ? &admissions : &refusals) += 1;
}

static void refused(void *user, const char *address, const char *why)
{
    (void)user, (void)address;
    assert_true(*why);
    refusals++;
}

static uint32_t most = 100;

static uint32_t most_of(void *user, const char *identity)
{
    (void)user;
    assert_string_equal(identity, "w1/1");
    return most;
}

static uint64_t now_usec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Runs the loop until *count reaches `wanted`; fails after ten seconds. */
static void wait_for(const int *count, int wanted)
{
    uint64_t deadline = now_usec() + 10000000;
    while (*count < wanted) {
        assert_true(sd_event_run(loop, 100000) >= 0);
        if (now_usec() > deadline)
            fail_msg("%d of %d came in time", *count, wanted);
    }
}

static void dealer_open(const struct key_file *keys)
{
    const struct wire_zmq_handler handler = {.on_message = dealer_message,
                                             .on_malformed = on_malformed,
                                             .on_up = on_up,
                                             .on_down = on_down,
                                             .on_refused = on_refused};
    dealer = (struct end){0};
    assert_int_equal(wire_zmq_connect(loop, wire_zmq_address(router.endpoint), keys, &handler,
                                      &dealer.endpoint, NULL),
                     0);
}

static void say(struct end *end, uint64_t peer)
{
    wire_begin(&envelope, duopoly_Envelope_agent_heartbeat_tag);
    assert_int_equal(wire_zmq_send(end->endpoint, peer, WIRE_RESULT, &envelope), 0);
}

static int listener_open(void **state)
{
    const struct wire_zmq_limits limits = {
        .most = 100, .idle_ns = UINT64_C(60000000000), .pressed_ns = UINT64_C(60000000000)};
    const struct wire_zmq_handler handler = {
        .on_message = router_message, .on_malformed = on_malformed, .on_gone = on_gone};
    const struct wire_zmq_guard guard = {&own, admit, refused, NULL, most_of};
    (void)state;
    assert_int_equal(key_pair_make(&own, NULL), 0);
    assert_int_equal(key_pair_make(&next, NULL), 0);
    agent = (struct key_file){.name = "w1", .role = ROLE_AGENT};
    assert_int_equal(key_pair_make(&agent.pair, NULL), 0);
    strcpy(agent.controllers[0], own.public);
    stranger = agent;
    assert_int_equal(key_pair_make(&stranger.pair, NULL), 0);
    strcpy(admitted, "w1/1");
    admissions = refusals = 0;
    router = (struct end){0};
    assert_true(sd_event_new(&loop) >= 0);
    assert_int_equal(wire_zmq_listen(loop, "tcp://127.0.0.1:*", &limits, &guard, &handler,
                                     &router.endpoint, NULL),
                     0);
    return 0;
}

static int all_close(void **state)
{
    (void)state;
    wire_zmq_close(dealer.endpoint);
    wire_zmq_close(router.endpoint);
    sd_event_unref(loop);
    return 0;
}

static void who_holds_a_known_key_is_named_with_each_message(void **state)
{
    (void)state;
    dealer_open(&agent);
    wait_for(&dealer.ups, 1);
    say(&dealer, 0);
    wait_for(&router.messages, 1);
    say(&router, router.peer);
    wait_for(&dealer.messages, 1);
    assert_int_equal(admissions, 1);
    assert_int_equal(refusals, 0);
}

static void an_unknown_key_is_kept_out(void **state)
{
    (void)state;
    dealer_open(&stranger);
    wait_for(&dealer.refused, 2); /* it tries again */
    assert_true(refusals >= 2);
    assert_int_equal(dealer.ups + admissions, 0);
}

static void plain_text_is_kept_out(void **state)
{
    (void)state;
    dealer_open(NULL);
    wait_for(&refusals, 1);
    assert_int_equal(dealer.ups + admissions, 0);
}

static void who_believes_another_controller_does_not_enter(void **state)
{
    (void)state;
    strcpy(agent.controllers[0], next.public);
    dealer_open(&agent);
    wait_for(&refusals, 1);
    assert_int_equal(dealer.ups + admissions, 0);
}

static void who_is_cut_is_gone_and_stays_out(void **state)
{
    (void)state;
    dealer_open(&agent);
    wait_for(&dealer.ups, 1);
    say(&dealer, 0);
    wait_for(&router.messages, 1);
    uint64_t cut_usec = now_usec();
    strcpy(admitted, "");
    wire_zmq_cut(router.endpoint, "w1/1");
    wait_for(&dealer.downs, 1);
    printf("# an identity that is cut is gone after %llu us\n",
           (unsigned long long)(now_usec() - cut_usec));
    wait_for(&dealer.refused, 1);
    assert_int_equal(router.gone, router.peer);
    assert_int_equal(dealer.ups, 1);
}

/* Each as soon as it says a word; who comes when one has gone is served again. */
static void a_key_has_so_many_connections(void **state)
{
    enum { MOST = 3 };
    struct wire_zmq *others[MOST];
    (void)state;
    most = MOST;
    for (int i = 0; i < MOST; i++) {
        dealer_open(&agent);
        wait_for(&dealer.ups, 1);
        say(&dealer, 0);
        wait_for(&router.messages, i + 1);
        others[i] = dealer.endpoint;
    }
    dealer_open(&agent);
    wait_for(&dealer.ups, 1);
    say(&dealer, 0);
    wait_for(&dealer.downs, 1);
    assert_int_equal(router.messages, MOST);
    assert_int_equal(wire_zmq_connections(router.endpoint)->crowded, 1);
    wire_zmq_close(dealer.endpoint);
    router.gone = 0;
    wire_zmq_close(others[0]);
    while (!router.gone)
        assert_true(sd_event_run(loop, 10000000) > 0);
    dealer_open(&agent);
    wait_for(&dealer.ups, 1);
    say(&dealer, 0);
    wait_for(&router.messages, MOST + 1);
    for (int i = 1; i < MOST; i++)
        wire_zmq_close(others[i]);
    most = 100;
}

static void a_new_key_of_the_controller_is_found_by_who_knows_both(void **state)
{
    (void)state;
    strcpy(agent.controllers[1], next.public);
    dealer_open(&agent);
    wait_for(&dealer.ups, 1);
    uint64_t began_usec = now_usec();
    own = next;
    assert_int_equal(wire_zmq_listen_anew(router.endpoint, NULL), 0);
    wait_for(&dealer.ups, 2);
    uint64_t gap_usec = now_usec() - began_usec;
    printf("# a controller's new key: back after %llu us\n", (unsigned long long)gap_usec);
    assert_true(gap_usec < 3000000);
    say(&dealer, 0);
    wait_for(&router.messages, 1);
}

static void a_key_file_is_read_as_it_was_written(void **state)
{
    struct key_file read;
    struct stat status;
    (void)state;
    assert_int_equal(key_file_write(path_of("w1.key"), &agent, NULL), 0);
    assert_int_equal(stat(path_of("w1.key"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(key_file_read(path_of("w1.key"), &read, NULL), 0);
    assert_memory_equal(&read, &agent, sizeof(agent));
    duopoly_ControllerKeys told = {.keys_count = 2};
    strcpy(told.keys[0].public_key, own.public);
    strcpy(told.keys[1].public_key, next.public);
    assert_int_equal(key_file_learn(path_of("w1.key"), &agent, &told, NULL), 0);
    assert_int_equal(key_file_read(path_of("w1.key"), &read, NULL), 0);
    assert_string_equal(read.controllers[0], own.public);
    assert_string_equal(read.controllers[1], next.public);
    strcpy(told.keys[1].public_key, "nonsense");
    assert_int_equal(key_file_learn(path_of("w1.key"), &agent, &told, NULL), -EINVAL);
    assert_string_equal(agent.controllers[1], next.public);
}

/* Whoever owns the folder may have put a link to another file where the new one is written. */
static void a_controller_s_key_goes_to_who_owns_its_folder(void **state)
{
    struct key_file controller = {.name = "controller", .role = ROLE_CONTROLLER, .pair = own};
    struct stat status;
    char precious[128];
    (void)state;
    if (getuid() != 0)
        skip_since("another user is needed: only root can be one");
    assert_int_equal(chown(path_of(""), 60001, 60002), 0);
    assert_int_equal(key_file_write(path_of("w1.key"), &agent, NULL), 0);
    assert_int_equal(stat(path_of("w1.key"), &status), 0);
    assert_int_equal(status.st_uid, 0);
    strcpy(precious, path_of("w1.key"));
    assert_int_equal(symlink(precious, path_of("controller.key.new")), 0);
    assert_int_equal(key_file_write(path_of("controller.key"), &controller, NULL), 0);
    assert_int_equal(lstat(path_of("controller.key"), &status), 0);
    assert_true(S_ISREG(status.st_mode) && status.st_uid == 60001 && status.st_gid == 60002);
    assert_int_equal(stat(precious, &status), 0);
    assert_int_equal(status.st_uid, 0);
    assert_int_equal(chown(path_of(""), 0, 0), 0);
}

static void a_key_that_others_can_read_is_refused(void **state)
{
    struct key_file read;
    struct err err;
    (void)state;
    assert_int_equal(key_file_write(path_of("w1.key"), &agent, NULL), 0);
    for (mode_t bit = 1; bit < 0100; bit <<= 1) {
        assert_int_equal(chmod(path_of("w1.key"), 0600 | bit), 0);
        assert_int_equal(key_file_read(path_of("w1.key"), &read, &err), -EPERM);
        assert_non_null(strstr(err.text, "chmod 600"));
    }
}

/* Each is one line of a file that is right otherwise. */
static void a_file_that_is_no_key_is_refused_without_a_word_of_it(void **state)
{
    static const char *const lines[] = {
        "secret short",
        "name a/b",
        "role king",
        "color red",
        "from yesterday",
        "secret",
        "public rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7 extra",
        "public \"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]y",
    };
    struct key_file read;
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        FILE *out = fopen(path_of("bad.key"), "w");
        assert_non_null(out);
        fprintf(out, "# words\n%s\nname w1\nrole agent\npublic %s\nsecret %s\n", lines[i],
                agent.pair.public, agent.pair.secret);
        fclose(out);
        assert_int_equal(chmod(path_of("bad.key"), 0600), 0);
        assert_int_equal(key_file_read(path_of("bad.key"), &read, &err), -EINVAL);
        assert_non_null(strstr(err.text, "bad.key:2:"));
        assert_null(strstr(err.text, agent.pair.secret));
        assert_null(strstr(err.text, lines[i]));
    }
}

static void halves_of_two_keys_are_refused(void **state)
{
    struct key_file mixed, read;
    struct err err;
    (void)state;
    mixed = agent;
    strcpy(mixed.pair.public, own.public);
    assert_int_equal(key_file_write(path_of("mixed.key"), &mixed, NULL), 0);
    assert_int_equal(key_file_read(path_of("mixed.key"), &read, &err), -EINVAL);
    assert_non_null(strstr(err.text, "do not belong together"));
}

int main(void)
{
#define LIVE(test) cmocka_unit_test_setup_teardown(test, listener_open, all_close)
    const struct CMUnitTest tests[] = {
        LIVE(who_holds_a_known_key_is_named_with_each_message),
        LIVE(an_unknown_key_is_kept_out),
        LIVE(plain_text_is_kept_out),
        LIVE(who_believes_another_controller_does_not_enter),
        LIVE(who_is_cut_is_gone_and_stays_out),
        LIVE(a_key_has_so_many_connections),
        LIVE(a_new_key_of_the_controller_is_found_by_who_knows_both),
        cmocka_unit_test(a_key_file_is_read_as_it_was_written),
        cmocka_unit_test(a_controller_s_key_goes_to_who_owns_its_folder),
        cmocka_unit_test(a_key_that_others_can_read_is_refused),
        cmocka_unit_test(halves_of_two_keys_are_refused),
        cmocka_unit_test(a_file_that_is_no_key_is_refused_without_a_word_of_it),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
