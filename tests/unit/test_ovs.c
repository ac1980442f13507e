/* The switch driver ovs on a real Open vSwitch of this test's own, and what it says to servers that
 * are none: one sentence, and nothing is changed. Skipped where Open vSwitch is not installed. */
#include "tests/unit/folder.h"
#include "tests/unit/kill_schedule.h"
#include "tests/unit/ovs_others.h"
#include "tests/unit/ovs_world.h"
#include "tests/unit/test.h"

#include "hostagent/switches/switch.h"
#include "lib/now.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>

#define PORTS     4
#define OWN_FLOWS 23

static struct ovs_world world;
static struct switch_settings settings;
static struct switch_config config;

static struct switch_state *open_switch(void)
{
    struct switch_state *sw = NULL;
    struct err err = {0};
    if (switch_ovs.open(&config, &sw, &err) < 0)
        fail_msg("%s", err.text);
    return sw;
}

/* Whether it is readable within this time. */
static bool has_news(const struct switch_state *sw, int ms)
{
    struct pollfd poll_of = {.fd = switch_ovs.fd(sw), .events = POLLIN};
    int r = poll(&poll_of, 1, ms);
    assert_true(r >= 0);
    return r > 0;
}

/* Returns how many steps it took, which the switch has reported then. */
static uint32_t apply(struct switch_state *sw, bool again)
{
    struct switch_plan *plan = NULL;
    struct err err = {0};
    if (switch_ovs.plan(sw, again, &plan, &err) < 0 || switch_ovs.apply(sw, plan, &err) < 0)
        fail_msg("%s", err.text);
    uint32_t n = plan->steps_n;
    switch_ovs.free_plan(plan);
    while (has_news(sw, 20))
        switch_ovs.notice(sw, NULL);
    return n;
}

static void check_refused(struct switch_state *sw, int code, const char *words)
{
    struct switch_plan *plan = NULL;
    struct err err = {0};
    int r = switch_ovs.plan(sw, false, &plan, &err);
    if (code == -EMSGSIZE && r == -ETIMEDOUT)
        return; /* too much for a busy machine to read in the time */
    assert_int_equal(r, code);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" says nothing of \"%s\"", err.text, words);
}

static char *record(struct switch_state *sw)
{
    char *text = NULL;
    assert_int_equal(switch_ovs.record(sw, &text, NULL), 0);
    return text;
}

static void restore(struct switch_state *sw)
{
    struct err err = {0};
    if (switch_ovs.restore(sw, &err) < 0)
        fail_msg("%s", err.text);
}

static void vsctl(const char *words)
{
    assert_int_equal(ovs_world_run("ovs-vsctl --db=unix:%s/db.sock %s >/dev/null", folder, words),
                     0);
}

static void ofctl(const char *command, const char *words)
{
    assert_int_equal(
        ovs_world_run("ovs-ofctl -O OpenFlow13 %s unix:%s/br0.mgmt '%s'", command, folder, words),
        0);
}

/* How many lines of a command's words have this in them. */
static int count(const char *pattern, const char *command)
{
    char line[512];
    snprintf(line, sizeof(line), "test $(%s | grep -c -e '%s') = ", command, pattern);
    for (int n = 0; n < 100; n++)
        if (ovs_world_run("%s%d", line, n) == 0)
            return n;
    return -1;
}

static int count_flows(const char *pattern)
{
    char command[256];
    snprintf(command, sizeof(command), "ovs-ofctl -O OpenFlow13 dump-flows unix:%s/br0.mgmt",
             folder);
    return count(pattern, command);
}

static int count_rows(const char *table, const char *pattern)
{
    char command[256];
    snprintf(command, sizeof(command), "ovs-vsctl --db=unix:%s/db.sock list %s", folder, table);
    return count(pattern, command);
}

/* Until it says this, or 10 s. What it says before is as may be. */
static void await(struct switch_state *sw, int wanted)
{
    uint64_t end = now_ns(CLOCK_MONOTONIC) + 10000000000ull;
    struct err err = {0};
    int r = -1;
    while (r != wanted && now_ns(CLOCK_MONOTONIC) < end)
        if (has_news(sw, 1000))
            r = switch_ovs.notice(sw, &err);
    assert_int_equal(r, wanted);
}

/* ---- on a real one --------------------------------------------------------------------------- */

static void test_rows_and_flows_are_what_they_should_be(void **state)
{
    (void)state;
    struct switch_state *sw = open_switch();
    assert_int_equal(apply(sw, false), PORTS * 11 + OWN_FLOWS);
    assert_int_equal(count_rows("qos", "duopoly-port=p"), PORTS);
    assert_int_equal(count_rows("queue", "duopoly=tester"), PORTS * PORT_TRAFFIC);
    assert_int_equal(
        count_rows("queue", "max-rate=\"100000000\", min-rate=\"1000000\", priority=\"7\""), PORTS);
    assert_int_equal(count_rows("queue", "min-rate=\"82000000\", priority=\"0\""), PORTS);
    assert_int_equal(count_rows("queue", "min-rate=\"10000000\", priority=\"7\""), PORTS);
    assert_int_equal(count_flows("cookie=0x64756f70.*set_queue"), OWN_FLOWS);
    assert_int_equal(count_flows("ip,nw_tos=12 actions=set_queue:3341,NORMAL"), 1);
    assert_int_equal(count_flows("ipv6,nw_tos=124 actions=set_queue:3348,NORMAL"), 1);
    assert_int_equal(count_flows("arp actions=set_queue:3349,NORMAL"), 1);
    restore(sw);
    assert_int_equal(count_rows("qos", "uuid"), 0);
    assert_int_equal(count_rows("queue", "uuid"), 0);
    assert_int_equal(count_flows("cookie"), 1);
    switch_ovs.close(sw);
}

static void test_changes_are_noticed_and_put_right(void **state)
{
    (void)state;
    struct switch_state *sw = open_switch();
    struct switch_plan *plan = NULL;
    apply(sw, false);
    vsctl("clear port p2 qos");
    await(sw, SWITCH_CHANGED);
    assert_int_equal(apply(sw, true), 1);
    vsctl("set port p2 qos=@q -- --id=@q create qos type=linux-hfsc");
    await(sw, SWITCH_CHANGED);
    assert_int_equal(switch_ovs.plan(sw, false, &plan, NULL), 0);
    assert_int_equal(plan->steps_n,
                     PORT_TRAFFIC + 1); /* p2 is left, and nothing needs what it had */
    assert_int_equal(plan->troubles_n, 1);
    assert_string_equal(plan->troubles[0].port, "p2");
    assert_non_null(strstr(plan->troubles[0].text, "p2 has a QoS of its own (linux-hfsc)"));
    switch_ovs.free_plan(plan);
    assert_int_equal(apply(sw, true), 1);
    ofctl("del-flows", "arp");
    await(sw, SWITCH_CHANGED);
    assert_int_equal(apply(sw, true), 1);
    vsctl("add-port br0 p9 -- set interface p9 type=dummy");
    await(sw, SWITCH_CHANGED);
    assert_int_equal(apply(sw, true), 11);
    vsctl("del-port p9");
    await(sw, SWITCH_CHANGED);
    assert_int_equal(apply(sw, true), 11);
    restore(sw);
    assert_int_equal(count_rows("port", "^qos *: \\[\\]"), PORTS + 1);
    vsctl("-- --all destroy qos");
    switch_ovs.close(sw);
}

/* The switch reports what somebody changed before it answers what we ask next. */
static void test_changes_beside_an_answer_are_noticed(void **state)
{
    (void)state;
    struct switch_state *sw = open_switch();
    struct switch_stats stats;
    struct err err = {0};
    apply(sw, false);
    vsctl("clear port p2 qos");
    assert_int_equal(switch_ovs.stats(sw, &stats, &err), 0);
    await(sw, SWITCH_CHANGED);
    assert_int_equal(apply(sw, true), 1);
    ofctl("del-flows", "arp");
    assert_int_equal(switch_ovs.stats(sw, &stats, &err), 0);
    await(sw, SWITCH_CHANGED);
    assert_int_equal(apply(sw, true), 1);
    restore(sw);
    switch_ovs.close(sw);
}

/* From now until nothing is left to do; returns how much there was. */
static uint32_t put_right(struct switch_state *sw)
{
    uint32_t steps = 0;
    for (;;) {
        struct switch_plan *plan = NULL;
        await(sw, SWITCH_BACK);
        if (switch_ovs.plan(sw, true, &plan, NULL) < 0)
            continue; /* it only begins */
        steps = plan->steps_n;
        int r = switch_ovs.apply(sw, plan, NULL);
        switch_ovs.free_plan(plan);
        if (r == 0)
            return steps;
    }
}

/* Its servers one after the other, and both at once. */
static void test_a_switch_that_comes_back_is_put_right(void **state)
{
    (void)state;
    struct switch_state *sw = open_switch();
    apply(sw, false);
    for (int i = 0; i < 3; i++) {
        bool flows = i != 1, rows = i != 0;
        if (flows)
            ovs_world_kill(&world.vswitchd);
        if (rows)
            ovs_world_kill(&world.database);
        await(sw, -ECONNRESET);
        if (rows)
            ovs_world_start_database(&world);
        if (flows)
            ovs_world_start_vswitchd(&world);
        assert_int_equal(put_right(sw), flows ? OWN_FLOWS : 0);
        assert_int_equal(apply(sw, true), 0);
    }
    restore(sw);
    switch_ovs.close(sw);
}

/* All of it, as Open vSwitch's own programs show it. */
static void test_a_kill_leaves_what_is_somebodys(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    config.replace = true;
    for (int i = 0; i < 8; i++) {
        assert_true(others_plant(&world, PORTS, &stream));
        assert_true(others_shown(&world, "before"));
        schedule_kill(&switch_ovs, &config, &stream, 30000);
        assert_true(others_shown(&world, "after"));
        assert_true(others_are_the_same(&world, "before", "after"));
    }
    config.replace = false;
    others_clear(&world, PORTS);
}

static void test_somebodys_flows_are_never_passed(void **state)
{
    (void)state;
    struct switch_state *sw = open_switch();
    ofctl("add-flow", "priority=5,in_port=1,actions=drop");
    char *before = record(sw);
    check_refused(sw, -EBUSY, "table 0 of bridge br0");
    char *after = record(sw);
    assert_string_equal(before, after);
    assert_int_equal(count_rows("qos", "uuid"), 0);
    free(before);
    free(after);
    switch_ovs.close(sw);

    settings.table = 7;
    sw = open_switch();
    check_refused(sw, -EBUSY, "table 7");
    ofctl("add-flow", "table=7,priority=0,actions=goto_table:9");
    ofctl("add-flow", "table=9,priority=0,actions=NORMAL");
    check_refused(sw, -EBUSY, "jumps to table 7");
    ofctl("add-flow", "table=0,priority=0,actions=goto_table:7");
    apply(sw, false);
    assert_int_equal(apply(sw, false), 0);
    assert_int_equal(count_flows("table=7.*set_queue:[0-9]*,goto_table:9"), OWN_FLOWS);
    assert_int_equal(count_flows("in_port=1 actions=drop"), 1);
    restore(sw);
    switch_ovs.close(sw);
    settings.table = 0;
    ofctl("del-flows", "");
    ofctl("add-flow", "priority=0,actions=NORMAL");
}

static void test_another_agents_queues_stay(void **state)
{
    (void)state;
    struct switch_state *sw = open_switch();
    apply(sw, false);
    switch_ovs.close(sw);
    config.owner = "another";
    config.replace = true;
    sw = open_switch();
    check_refused(sw, -EBUSY, "of another agent");
    restore(sw);
    switch_ovs.close(sw);
    config.owner = "tester";
    config.replace = false;
    sw = open_switch();
    assert_int_equal(apply(sw, false), 0);
    restore(sw);
    switch_ovs.close(sw);
}

static void test_a_bridge_that_is_not_there_is_said(void **state)
{
    (void)state;
    strcpy(settings.bridge, "br7");
    snprintf(settings.openflow, sizeof(settings.openflow), "unix:%s/br0.mgmt", folder);
    struct switch_state *sw = open_switch();
    check_refused(sw, -ENOENT, "no bridge br7");
    switch_ovs.close(sw);
    strcpy(settings.bridge, "br0");
    settings.openflow[0] = 0;
}

static void test_a_bridge_of_other_versions_is_said_with_them(void **state)
{
    (void)state;
    static const struct {
        const char *set, *said;
    } cases[] = {
        {"OpenFlow10", "speaks OpenFlow 1.0, not OpenFlow 1.3"},
        {"OpenFlow14", "speaks OpenFlow 1.4, not OpenFlow 1.3"},
        {"OpenFlow10,OpenFlow12,OpenFlow15", "speaks OpenFlow 1.0, 1.2 and 1.5, not OpenFlow 1.3"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char words[128];
        snprintf(words, sizeof(words), "set bridge br0 protocols=%s", cases[i].set);
        vsctl(words);
        struct switch_state *sw = open_switch();
        check_refused(sw, -EPROTO, cases[i].said);
        check_refused(sw, -EPROTO, "protocols OpenFlow13"); /* and again */
        switch_ovs.close(sw);
    }
    vsctl("clear bridge br0 protocols");
}

/* While it goes on like that, it is said once. */
static void test_a_bridge_that_changes_its_versions_is_said_once(void **state)
{
    (void)state;
    struct switch_state *sw = open_switch();
    struct err err = {0};
    int told = 0;
    apply(sw, false);
    vsctl("set bridge br0 protocols=OpenFlow10");
    while (switch_ovs.plan(sw, true, &(struct switch_plan *){NULL}, &err) >= 0)
        ;
    for (uint64_t end = now_ns(CLOCK_MONOTONIC) + 1000000000; now_ns(CLOCK_MONOTONIC) < end;) {
        has_news(sw, 100);
        if (switch_ovs.notice(sw, &err) < 0 &&
            strstr(err.text, "speaks OpenFlow 1.0, not OpenFlow 1.3"))
            told++;
    }
    assert_int_equal(told, 1);
    vsctl("clear bridge br0 protocols");
    await(sw, SWITCH_BACK);
    apply(sw, true);
    restore(sw);
    switch_ovs.close(sw);
}

/* ---- what is none ---------------------------------------------------------------------------- */

struct words {
    const void *bytes;
    size_t n, times;
};
#define SAY(text) ((struct words){(text), sizeof(text) - 1, 1})

/* Says this to whoever connects to fake.sock, then nothing more. */
static pid_t begin_fake(struct words first, struct words then)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/fake.sock", folder);
    unlink(address.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 5), 0);
    pid_t parent = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        int peer = getppid() == parent ? accept(fd, NULL, NULL) : -1;
        bool heard = write(peer, first.bytes, first.n) >= 0;
        for (size_t i = 0; heard && i < then.times; i++)
            heard = write(peer, then.bytes, then.n) >= 0;
        for (;;)
            pause();
    }
    close(fd);
    return pid;
}

/* A plan against a fake in the place of one side. */
static void check_fake(struct words first, struct words then, bool as_database, int code,
                       const char *sentence)
{
    pid_t fake = begin_fake(first, then);
    char *where = as_database ? settings.at : settings.openflow, kept[256];
    memcpy(kept, where, sizeof(kept));
    snprintf(where, sizeof(settings.at), "unix:%s/fake.sock", folder);
    if (as_database)
        snprintf(settings.openflow, sizeof(settings.openflow), "unix:%s/br0.mgmt", folder);
    struct switch_state *sw = open_switch();
    check_refused(sw, code, sentence);
    switch_ovs.close(sw);
    memcpy(where, kept, sizeof(kept));
    settings.openflow[0] = 0;
    ovs_world_kill(&fake);
    assert_int_equal(count_rows("qos", "uuid"), 0);
    assert_int_equal(count_flows("cookie"), 1);
}

static void test_servers_that_are_none_are_left(void **state)
{
    (void)state;
    static const struct words nothing;
    const struct words http = SAY("HTTP/1.1 400 Bad Request\r\n\r\n");
    check_fake(SAY("{\"id\":2,\"result\":[{\"rows\":["), nothing, true, -ETIMEDOUT, "in time");
    check_fake(nothing, nothing, false, -ETIMEDOUT, "in time");
    check_fake(http, nothing, true, -EBADMSG, "no OVSDB server");
    check_fake(http, nothing, false, -EBADMSG, "no OpenFlow switch");
    check_fake(SAY("{\"id\":2,\"result\":[],\"error\":null}"), nothing, true, -EBADMSG,
               "leaves out results");
    check_fake(SAY("\1\0\0\10\0\0\0\0"), nothing, false, -EPROTO, "OpenFlow 1.3");
}

/* 1 GB, of which only so much is taken. */
static void test_a_server_without_end_is_left(void **state)
{
    (void)state;
    static char text[65536], messages[65536];
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < sizeof(messages); i += 8)
        memcpy(messages + i, "\4\14\0\10\0\0\0\0", 8);
    check_fake(SAY("{\"a\":\""), (struct words){text, sizeof(text), 16384}, true, -EMSGSIZE,
               "more than 32 MiB");
    check_fake(SAY("\4\0\0\10\0\0\0\0"), (struct words){messages, sizeof(messages), 16384}, false,
               -EMSGSIZE, "more than 64 MiB");
}

static const char no_qos[] =
    "{\"name\":\"Open_vSwitch\",\"version\":\"1.0.0\",\"tables\":{\"Bridge\":{\"columns\":{"
    "\"name\":{\"type\":\"string\"}}}}}";

static void test_a_database_without_queues_is_said(void **state)
{
    (void)state;
    struct ovs_world other = world;
    FILE *file = fopen(path_of("none.ovsschema"), "w");
    assert_non_null(file);
    fputs(no_qos, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(ovs_world_run("cd %s && ovsdb-tool create none.db none.ovsschema", folder), 0);
    char database[128], remote[128], control[128];
    snprintf(database, sizeof(database), "%s/none.db", folder);
    snprintf(remote, sizeof(remote), "--remote=punix:%s/none.sock", folder);
    snprintf(control, sizeof(control), "--unixctl=%s/none.ctl", folder);
    const char *const argv[] = {"/usr/sbin/ovsdb-server", database, remote, control, NULL};
    pid_t server = ovs_world_start(&other, "none.log", argv);
    assert_true(ovs_world_answers(&other, "none.sock"));
    char at[256];
    memcpy(at, settings.at, sizeof(at));
    snprintf(settings.at, sizeof(settings.at), "unix:%s/none.sock", folder);
    snprintf(settings.openflow, sizeof(settings.openflow), "unix:%s/br0.mgmt", folder);
    struct switch_state *sw = open_switch();
    check_refused(sw, -EPROTO, "no table named");
    switch_ovs.close(sw);
    memcpy(settings.at, at, sizeof(at));
    settings.openflow[0] = 0;
    ovs_world_kill(&server);
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static void make_certificate(const char *name)
{
    assert_int_equal(ovs_world_run("cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 "
                                   "-subj /CN=%s -keyout %s.key -out %s.pem 2>/dev/null",
                                   folder, name, name, name),
                     0);
}

static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, n), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void await_port(uint16_t port)
{
    const struct timespec moment = {.tv_nsec = 2000000};
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons(port)};
    for (int i = 0; i < 5000; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int r = connect(fd, (const struct sockaddr *)&address, sizeof(address));
        close(fd);
        if (r == 0)
            return;
        nanosleep(&moment, NULL);
    }
    fail_msg("nobody listens to port %u", port);
}

/* Another server, that has the schema and no bridge: to hear that is to have been let in. */
static pid_t begin_tls(uint16_t port)
{
    char database[128], here[128], there[64], key[128], certificate[128], ca[128], control[128];
    assert_int_equal(ovs_world_run("ovsdb-tool create %s/tls.db %s", folder, OVS_SCHEMA), 0);
    snprintf(database, sizeof(database), "%s/tls.db", folder);
    snprintf(here, sizeof(here), "--remote=punix:%s/tls.sock", folder);
    snprintf(there, sizeof(there), "--remote=pssl:%u:127.0.0.1", port);
    snprintf(key, sizeof(key), "--private-key=%s/switch.key", folder);
    snprintf(certificate, sizeof(certificate), "--certificate=%s/switch.pem", folder);
    snprintf(ca, sizeof(ca), "--ca-cert=%s/agent.pem", folder);
    snprintf(control, sizeof(control), "--unixctl=%s/tls.ctl", folder);
    const char *const argv[] = {
        "/usr/sbin/ovsdb-server", database, here, there, key, certificate, ca, control, NULL};
    pid_t server = ovs_world_start(&world, "tls.log", argv);
    assert_true(ovs_world_answers(&world, "tls.sock"));
    await_port(port);
    return server;
}

/* As `name`, believing `ca`. */
static void check_tls(uint16_t port, const char *name, const char *ca, int code, const char *words)
{
    struct switch_settings kept = settings;
    struct switch_state *sw = NULL;
    struct err err = {0};
    snprintf(settings.at, sizeof(settings.at), "ssl:127.0.0.1:%u", port);
    snprintf(settings.openflow, sizeof(settings.openflow), "unix:%s/br0.mgmt", folder);
    snprintf(settings.ca, sizeof(settings.ca), "%s/%s.pem", folder, ca);
    snprintf(settings.certificate, sizeof(settings.certificate), "%s/%s.pem", folder, name);
    snprintf(settings.private_key, sizeof(settings.private_key), "%s/%s.key", folder, name);
    assert_int_equal(switch_ovs.check(&settings, &err), 0);
    int r = switch_ovs.open(&config, &sw, &err);
    if (r == 0) {
        struct switch_plan *plan = NULL;
        r = switch_ovs.plan(sw, false, &plan, &err);
    }
    assert_true(code ? r == code : r == -EPROTO || r == -ECONNRESET);
    if (!err.text[0] || !strstr(err.text, words))
        fail_msg("\"%s\" says nothing of \"%s\"", err.text, words);
    switch_ovs.close(sw);
    settings = kept;
}

static void test_tls_that_does_not_verify_is_refused(void **state)
{
    (void)state;
    uint16_t port = free_port();
    make_certificate("switch");
    make_certificate("agent");
    make_certificate("stranger");
    pid_t server = begin_tls(port);
    check_tls(port, "agent", "switch", -ENOENT, "no bridge br0");
    check_tls(port, "agent", "stranger", -EPROTO, "not to be trusted");
    check_tls(port, "stranger", "switch", 0, ""); /* by an alert, or by an end */
    ovs_world_kill(&server);
    settings.at[0] = 0;
    strcpy(settings.at, "ssl:127.0.0.1:6640");
    strcpy(settings.openflow, "tcp:127.0.0.1:6653");
    struct err err = {0};
    assert_int_equal(switch_ovs.check(&settings, &err), -EINVAL);
    assert_non_null(strstr(err.text, "switch.ca"));
    settings.openflow[0] = 0;
    snprintf(settings.at, sizeof(settings.at), "unix:%s/db.sock", folder);
}

static int begin(void **state)
{
    signal(SIGPIPE, SIG_IGN);
    if (folder_make(state) < 0 || !ovs_world_begin(&world, folder, PORTS))
        return -1;
    settings = (struct switch_settings){.driver = "ovs", .bridge = "br0"};
    snprintf(settings.at, sizeof(settings.at), "unix:%s/db.sock", folder);
    config = (struct switch_config){.settings = &settings,
                                    .owner = "tester",
                                    .state_dir = folder,
                                    .wish = port_wish_preset,
                                    .control_port = 7600};
    config.wish.link_bps = 100000000;
    return 0;
}

static int end(void **state)
{
    ovs_world_end(&world);
    return folder_remove(state);
}

static void test_openvswitch_is_not_installed(void **state)
{
    (void)state;
    skip_since("openvswitch-switch is not installed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_and_flows_are_what_they_should_be),
        cmocka_unit_test(test_changes_are_noticed_and_put_right),
        cmocka_unit_test(test_changes_beside_an_answer_are_noticed),
        cmocka_unit_test(test_a_switch_that_comes_back_is_put_right),
        cmocka_unit_test(test_a_kill_leaves_what_is_somebodys),
        cmocka_unit_test(test_somebodys_flows_are_never_passed),
        cmocka_unit_test(test_another_agents_queues_stay),
        cmocka_unit_test(test_a_bridge_that_is_not_there_is_said),
        cmocka_unit_test(test_a_bridge_of_other_versions_is_said_with_them),
        cmocka_unit_test(test_a_bridge_that_changes_its_versions_is_said_once),
        cmocka_unit_test(test_servers_that_are_none_are_left),
        cmocka_unit_test(test_a_server_without_end_is_left),
        cmocka_unit_test(test_a_database_without_queues_is_said),
        cmocka_unit_test(test_tls_that_does_not_verify_is_refused),
    };
    const struct CMUnitTest none[] = {cmocka_unit_test(test_openvswitch_is_not_installed)};
    if (!ovs_world_possible())
        return cmocka_run_group_tests(none, NULL, NULL);
    return cmocka_run_group_tests(tests, begin, end);
}
