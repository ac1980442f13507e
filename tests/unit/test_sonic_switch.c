/* The driver sonic on a Redis of the test's own that holds the CONFIG_DB of 64 ports: one
 * transaction, right key by key, others' changes noticed, all of it taken back; and on servers that
 * are none. */
#include "tests/unit/folder.h"
#include "tests/unit/kill_schedule.h"
#include "tests/unit/redis_server.h"
#include "tests/unit/sonic_site.h"
#include "tests/unit/test.h"

#include "hostagent/switches/sonic/redis.h"
#include "hostagent/switches/switch.h"
#include "lib/sonic/sonic_want.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PORTS   64
#define WAIT_MS 30000

static struct redis_server server;
static struct switch_settings settings;
static struct switch_config config;
static json_t *site, *before; /* the switch as it is at first, and what its Redis has then */
static struct switch_state *sw;

static void configure(const char *at)
{
    settings = (struct switch_settings){.driver = "sonic"};
    snprintf(settings.at, sizeof(settings.at), "%s", at);
    config = (struct switch_config){.settings = &settings,
                                    .owner = "tester",
                                    .state_dir = folder,
                                    .wish = port_wish_preset,
                                    .replace = true};
    config.wish.ecn = true;
}

static struct switch_state *open_switch(void)
{
    struct switch_state *opened = NULL;
    struct err err = {0};
    if (switch_sonic.open(&config, &opened, &err) < 0)
        fail_msg("%s", err.text);
    return opened;
}

/* A Redis with nothing in it. */
static int begin(void **state)
{
    (void)state;
    redis_server_begin(&server, folder, "AKE");
    configure(server.at);
    return 0;
}

/* One that is a switch's, and the driver on it. */
static int begin_site(void **state)
{
    begin(state);
    site = site_full(PORTS);
    redis_load(&server, site);
    before = redis_snapshot(&server);
    sw = open_switch();
    return 0;
}

static int end(void **state)
{
    (void)state;
    switch_sonic.close(sw);
    sw = NULL;
    json_decref(site);
    json_decref(before);
    site = before = NULL;
    redis_server_end(&server);
    return switch_forget(folder, NULL);
}

static uint32_t apply(bool again)
{
    struct switch_plan *plan = NULL;
    struct err err = {0};
    if (switch_sonic.plan(sw, again, &plan, &err) < 0 || switch_sonic.apply(sw, plan, &err) < 0)
        fail_msg("%s", err.text);
    uint32_t n = plan->steps_n;
    switch_sonic.free_plan(plan);
    return n;
}

static void restore(void)
{
    struct err err = {0};
    if (switch_sonic.restore(sw, &err) < 0)
        fail_msg("%s", err.text);
}

static long calls_of(const char *command)
{
    char line[64];
    redisReply *reply = redisCommand(server.context, "INFO commandstats");
    snprintf(line, sizeof(line), "cmdstat_%s:calls=", command);
    const char *at = strstr(reply->str, line);
    long calls = at ? atol(at + strlen(line)) : 0;
    freeReplyObject(reply);
    return calls;
}

/* What lib/sonic wants, as a snapshot. */
static json_t *expected(void)
{
    struct port wants[PORTS];
    struct sonic_port of[PORTS];
    char names[PORTS][SONIC_NAME];
    struct err err = {0};
    json_t *db = NULL, *flat = json_object(), *rows, *row;
    for (uint32_t i = 0; i < PORTS; i++) {
        struct sonic_facts facts;
        site_name(i, names[i]);
        assert_int_equal(sonic_facts(site, names[i], &facts, &err), 0);
        struct port_facts port = {.mtu_bytes = facts.mtu_bytes,
                                  .link_bps = facts.link_bps,
                                  .queues_n = SONIC_QUEUES,
                                  .abilities = {.strict = true, .floors = true, .ecn = true}};
        for (uint32_t q = 0; q < SONIC_QUEUES; q++)
            port.lossless |= (uint32_t)(facts.lossless >> q & 1) << (7 - q);
        assert_int_equal(port_want(&config.wish, &port, &wants[i], &err), 0);
        of[i] = (struct sonic_port){names[i], &wants[i]};
    }
    const struct sonic_wish wish = {.owner = "tester",
                                    .dscp_of_level = config.wish.dscp_of_level,
                                    .ports = of,
                                    .ports_n = PORTS};
    assert_int_equal(sonic_want(site, &wish, &db, &err), 0);
    const char *table, *key;
    json_object_foreach(db, table, rows)
    {
        json_object_foreach(rows, key, row)
        {
            char name[SONIC_KEY];
            snprintf(name, sizeof(name), "%s|%s", table, key);
            json_object_set(flat, name, row);
        }
    }
    json_decref(db);
    return flat;
}

static void check_snapshot(const json_t *want)
{
    json_t *now = redis_snapshot(&server);
    if (!json_equal(now, want)) {
        char *a = json_dumps(now, JSON_SORT_KEYS | JSON_INDENT(1));
        char *b = json_dumps(want, JSON_SORT_KEYS | JSON_INDENT(1));
        fail_msg("CONFIG_DB has\n%s\nand should have\n%s", a, b);
    }
    json_decref(now);
}

/* Until the driver says that there is something to compare. */
static int wait_for_notice(struct err *err)
{
    struct pollfd poll_for = {.fd = switch_sonic.fd(sw), .events = POLLIN};
    int r = 0;
    while (r == 0) {
        if (poll(&poll_for, 1, WAIT_MS) != 1)
            fail_msg("nothing was noticed in %d ms", WAIT_MS);
        r = switch_sonic.notice(sw, err);
    }
    return r;
}

/* ---- a real Redis ---------------------------------------------------------------------------- */

static void test_one_transaction_is_right_key_by_key(void **state)
{
    (void)state;
    json_t *want = expected();
    assert_true(apply(false) > PORTS);
    assert_int_equal(calls_of("exec"), 1);
    check_snapshot(want);
    assert_int_equal(apply(false), 0);
    assert_int_equal(calls_of("exec"), 1);
    restore();
    assert_int_equal(calls_of("exec"), 2);
    check_snapshot(before);
    json_decref(want);
}

static void test_a_changed_wish_leaves_nothing_behind(void **state)
{
    (void)state;
    apply(false);
    switch_sonic.close(sw);
    config.wish.floor_permille = 20;
    config.wish.ecn = false;
    config.replace = false; /* what stood there made room already */
    sw = open_switch();
    assert_true(apply(false) > 0);
    json_t *want = expected();
    check_snapshot(want);
    restore();
    check_snapshot(before);
    json_decref(want);
}

static void test_somebodys_change_is_noticed(void **state)
{
    (void)state;
    json_t *want = expected();
    struct err err = {0};
    apply(false);
    while (wait_for_notice(&err) != SWITCH_CHANGED)
        ;
    redis_do(&server, "HSET QUEUE|Ethernet0|7 scheduler scheduler.0");
    assert_int_equal(wait_for_notice(&err), SWITCH_CHANGED);
    assert_true(apply(true) > 0);
    check_snapshot(want);
    json_decref(want);
}

/* What `config reload` does, while the agent follows every notice. */
static void test_after_flush_and_reload_it_is_right(void **state)
{
    (void)state;
    json_t *want = expected();
    apply(false);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct redis_server own = server;
        own.context = redisConnectUnix(server.socket);
        redis_do(&own, "SELECT 4");
        redis_do(&own, "FLUSHDB");
        redis_load(&own, site);
        redis_do(&own, "HSET QUEUE|reloaded|0 scheduler scheduler.0");
        _exit(0);
    }
    bool reloaded = false;
    uint32_t steps = 1;
    while (!reloaded || steps) {
        struct switch_plan *plan = NULL;
        struct err err = {0};
        redisReply *reply = redisCommand(server.context, "EXISTS QUEUE|reloaded|0");
        reloaded = reply->integer == 1;
        freeReplyObject(reply);
        steps = 1;
        /* Half a CONFIG_DB may be none yet; the next notice is of the rest. */
        if (switch_sonic.plan(sw, true, &plan, &err) >= 0) {
            steps = plan->steps_n;
            int r = switch_sonic.apply(sw, plan, &err);
            if (r < 0 && r != -EAGAIN)
                fail_msg("%s", err.text);
        }
        switch_sonic.free_plan(plan);
        if (!reloaded || steps)
            wait_for_notice(&err);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    redis_do(&server, "DEL QUEUE|reloaded|0");
    check_snapshot(want);
    restore();
    check_snapshot(before);
    json_decref(want);
}

static void test_a_server_that_comes_back_is_found(void **state)
{
    struct err err = {0};
    assert_int_equal(wait_for_notice(&err), SWITCH_CHANGED);
    redis_server_end(&server);
    assert_true(wait_for_notice(&err) < 0);
    assert_true(err.text[0]);
    begin(state);
    redis_load(&server, site);
    assert_int_equal(wait_for_notice(&err), SWITCH_BACK);
    assert_true(apply(false) > 0);
    restore();
}

static void count(const char *queue, int packets, int drops)
{
    char number[24], dropped[24];
    snprintf(number, sizeof(number), "%d", packets);
    snprintf(dropped, sizeof(dropped), "%d", drops);
    redis_do(&server, "SELECT 2");
    redis_do(&server, "HSET COUNTERS_QUEUE_NAME_MAP %s oid:%s", queue, queue);
    redis_do(&server,
             "HSET COUNTERS:oid:%s SAI_QUEUE_STAT_PACKETS %s SAI_QUEUE_STAT_DROPPED_PACKETS %s",
             queue, number, dropped);
    redis_do(&server, "SELECT 4");
}

/* Queue 7 is control's and level 0's here, queue 3 is lossless. */
static void test_queues_are_counted(void **state)
{
    (void)state;
    struct switch_stats stats;
    struct err err = {0};
    apply(false);
    count("Ethernet0:7", 100, 0);
    assert_int_equal(switch_sonic.stats(sw, &stats, &err), 0);
    assert_int_equal(stats.traffic[TRAFFIC_CONTROL].packets, 0);
    count("Ethernet0:7", 150, 4);
    count("Ethernet4:7", 1000, 5);
    count("Ethernet0:3", 7, 7);
    assert_int_equal(switch_sonic.stats(sw, &stats, &err), 0);
    assert_int_equal(stats.traffic[TRAFFIC_CONTROL].packets, 1050);
    assert_int_equal(stats.traffic[TRAFFIC_CONTROL].drops, 9);
    for (int traffic = 1; traffic < PORT_TRAFFIC; traffic++)
        assert_int_equal(stats.traffic[traffic].packets, 0);
    restore();
}

static void test_a_plan_is_for_what_was_read(void **state)
{
    (void)state;
    static const char *const changes[] = {"HSET QUEUE|Ethernet0|0 scheduler scheduler.1",
                                          "HSET QUEUE|Ethernet0|7 scheduler scheduler.1",
                                          "HDEL PORT_QOS_MAP|Ethernet4 pfc_enable", "FLUSHDB"};
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct switch_plan *plan = NULL;
        struct err err = {0};
        assert_int_equal(switch_sonic.plan(sw, false, &plan, &err), 0);
        redisReply *reply = redisCommand(server.context, changes[i]);
        freeReplyObject(reply);
        json_t *changed = redis_snapshot(&server);
        assert_int_equal(switch_sonic.apply(sw, plan, &err), -EAGAIN);
        check_snapshot(changed);
        json_decref(changed);
        switch_sonic.free_plan(plan);
        char *kept = NULL;
        assert_int_equal(switch_kept(folder, &kept, &err), 0);
        assert_null(kept);
    }
}

static void test_kills_at_any_moment_leave_what_was_there(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int i = 0; i < 20; i++) {
        json_t *others = site_full(PORTS);
        site_scatter(others, PORTS, &stream);
        redis_do(&server, "FLUSHDB");
        redis_load(&server, others);
        json_t *shown = redis_snapshot(&server);
        config.wish.floor_permille = i % 2 ? 10 : 5;
        schedule_kill(&switch_sonic, &config, &stream, 100000);
        check_snapshot(shown);
        json_decref(shown);
        json_decref(others);
    }
}

/* ---- orchagent ------------------------------------------------------------------------------- */

/* What orchagent (sonic-swss, orchagent/qosorch.cpp, handleQueueTable) makes of QUEUE while it
 * runs: the rows that changed, batch by batch, each batch in the order of the keys. */
struct orchagent {
    redisContext *context; /* hears of changes */
    json_t *had;           /* rows as it took them last */
    char cell[PORTS][SONIC_QUEUES][2][SONIC_NAME];
};

static const char *const cell_fields[2] = {"scheduler", "wred_profile"};

static void orchagent_row(struct orchagent *orch, const char *key, const json_t *row)
{
    struct sonic_cells cells;
    char name[SONIC_NAME];
    assert_int_equal(sonic_cells(key, &cells), 0);
    for (uint32_t port = 0; port < PORTS; port++) {
        site_name(port, name);
        if (!site_names(cells.ports, cells.ports + cells.ports_bytes, name))
            continue;
        for (uint32_t q = cells.low; q <= cells.high; q++)
            for (int i = 0; i < 2; i++) {
                const char *is = json_string_value(json_object_get(row, cell_fields[i]));
                const json_t *was =
                    json_object_get(json_object_get(orch->had, key), cell_fields[i]);
                if (is || was || !row)
                    snprintf(orch->cell[port][q][i], SONIC_NAME, "%s", is ? is : "");
            }
    }
    if (row)
        json_object_set_new(orch->had, key, json_deep_copy(row));
    else
        json_object_del(orch->had, key);
}

static void orchagent_batch(struct orchagent *orch, const json_t *keys)
{
    json_t *db = redis_snapshot(&server), *none;
    const char *key, *sorted[8192];
    size_t n = 0;
    json_object_foreach((json_t *)keys, key, none)
    {
        sorted[n++] = key;
    }
    qsort(sorted, n, sizeof(sorted[0]), site_by_key);
    for (size_t i = 0; i < n; i++)
        orchagent_row(orch, sorted[i] + strlen("QUEUE|"), json_object_get(db, sorted[i]));
    json_decref(db);
}

/* Takes what changed up to now as one batch; false: nothing did. */
static bool orchagent_take(struct orchagent *orch)
{
    json_t *keys = json_object();
    bool end = false;
    redis_do(&server, "PUBLISH now now");
    while (!end) {
        redisReply *reply = NULL;
        assert_int_equal(redisGetReply(orch->context, (void **)&reply), REDIS_OK);
        if (strcmp(reply->element[0]->str, "pmessage") == 0) {
            const char *key = strchr(reply->element[2]->str, ':');
            end = !key;
            if (key)
                json_object_set_new(keys, key + 1, json_null());
        }
        freeReplyObject(reply);
    }
    bool any = json_object_size(keys) > 0;
    orchagent_batch(orch, keys);
    json_decref(keys);
    return any;
}

static void orchagent_begin(struct orchagent *orch)
{
    json_t *db = redis_snapshot(&server), *keys = json_object(), *row;
    const char *key;
    orch->had = json_object();
    json_object_foreach(db, key, row)
    {
        if (strncmp(key, "QUEUE|", 6) == 0)
            json_object_set_new(keys, key, json_null());
    }
    orchagent_batch(orch, keys);
    json_decref(keys);
    json_decref(db);
    orch->context = redisConnectUnix(server.socket);
    assert_int_equal(redisAppendCommand(orch->context, "PSUBSCRIBE __keyspace@4__:QUEUE|* now"),
                     REDIS_OK);
    for (int i = 0; i < 2; i++) {
        redisReply *reply = NULL;
        assert_int_equal(redisGetReply(orch->context, (void **)&reply), REDIS_OK);
        freeReplyObject(reply);
    }
}

/* How many cells are not as CONFIG_DB says. */
static uint32_t orchagent_wrong(struct orchagent *orch)
{
    json_t *flat = redis_snapshot(&server), *db = json_object(), *row;
    const char *name;
    uint32_t wrong = 0;
    json_object_foreach(flat, name, row)
    {
        if (strncmp(name, "QUEUE|", 6) == 0)
            sonic_put(db, "QUEUE", name + 6, json_deep_copy(row));
    }
    for (uint32_t port = 0; port < PORTS; port++)
        for (uint32_t q = 0; q < SONIC_QUEUES; q++)
            for (int i = 0; i < 2; i++) {
                char want[SONIC_NAME], of[SONIC_NAME];
                site_name(port, of);
                site_cell(db, of, q, cell_fields[i], want);
                wrong += strcmp(want, orch->cell[port][q][i]) != 0;
            }
    json_decref(db);
    json_decref(flat);
    return wrong;
}

/* A range that makes room may undo its parts in orchagent, and the other way round: once more. */
static void test_what_a_batch_undoes_is_written_again(void **state)
{
    (void)state;
    static struct orchagent orch;
    struct err err = {0};
    orchagent_begin(&orch);
    assert_int_equal(orchagent_wrong(&orch), 0);
    assert_int_equal(wait_for_notice(&err), SWITCH_CHANGED);
    apply(false);
    assert_true(orchagent_take(&orch));
    assert_true(orchagent_wrong(&orch) > 0);
    assert_int_equal(wait_for_notice(&err), SWITCH_CHANGED);
    assert_int_equal(apply(false), 0); /* has heard what was written again */
    assert_true(orchagent_take(&orch));
    assert_int_equal(orchagent_wrong(&orch), 0);

    assert_int_equal(calls_of("eval"), 1);
    restore();
    assert_int_equal(calls_of("eval"), 2);
    check_snapshot(before);
    redisFree(orch.context);
    json_decref(orch.had);
}

/* ---- bad ones -------------------------------------------------------------------------------- */

static void check_refused(int code, bool when_opened)
{
    struct switch_state *opened = NULL;
    struct switch_plan *plan = NULL;
    struct err err = {0};
    int r = switch_sonic.open(&config, &opened, &err);
    if (!when_opened && r >= 0)
        r = switch_sonic.plan(opened, false, &plan, &err);
    bool slow = code == -EMSGSIZE && r == -ETIMEDOUT; /* a busy machine does not read it in time */
    if (r != code && !slow)
        fail_msg("%d instead of %d: %s", r, code, err.text);
    assert_true(err.text[0]);
    switch_sonic.free_plan(plan);
    switch_sonic.close(opened);
}

static void test_a_redis_that_is_no_sonic_is_refused(void **state)
{
    (void)state;
    check_refused(-EPROTO, false);
    redis_do(&server, "SET some thing");
    check_refused(-EPROTO, false);
    site = site_full(3);
    redis_load(&server, site);
    before = redis_snapshot(&server);
    redis_do(&server, "SET QUEUE|Ethernet0|7 text");
    check_refused(-EREMOTEIO, false);
    redis_do(&server, "DEL QUEUE|Ethernet0|7");
    redis_do(&server, "HSET QUEUE|Ethernet0|7 scheduler %b", "\xff\xfe", (size_t)2);
    check_refused(-EPROTO, false);
    redis_do(&server, "DEL QUEUE|Ethernet0|7");
    redis_do(&server, "CONFIG SET notify-keyspace-events g");
    check_refused(-EPROTO, true);
    check_snapshot(before);
    redis_server_end(&server);
    check_refused(-ECONNREFUSED, true);
}

/* A server that says this whatever it is asked, then is silent or says it for ever. */
static pid_t false_server(const char *words, size_t n, bool for_ever)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/redis.sock", folder);
    unlink(at.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 8), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    while (child == 0) {
        int client = accept(fd, NULL, NULL);
        do {
            if (client < 0 || send(client, words, n, MSG_NOSIGNAL) < 0)
                break;
        } while (for_ever);
    }
    close(fd);
    char text[128];
    snprintf(text, sizeof(text), "unix:%s", at.sun_path);
    configure(text);
    return child;
}

static void test_false_servers_are_refused(void **state)
{
    (void)state;
    static char much[65536];
    memset(much, 'x', sizeof(much));
    const struct {
        const char *words;
        size_t n;
        bool for_ever;
        int code;
    } cases[] = {{"HTTP/1.1 400 Bad Request\r\n", 26, false, -EPROTO},
                 {"+O", 2, false, -ETIMEDOUT},
                 {"", 0, false, -ETIMEDOUT},
                 {"-NOAUTH Authentication required.\r\n", 34, false, -EREMOTEIO},
                 {"*1000000000\r\n", 13, false, -EMSGSIZE},
                 {"$1000000000\r\nxxxxxxxxxxxxxxxxxxxx", 33, false, -ETIMEDOUT},
                 {"+OK\r\n", 5, true, -EPROTO},
                 {"*2\r\n", 4, true, -EPROTO}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pid_t child = false_server(cases[i].words, cases[i].n, cases[i].for_ever);
        check_refused(cases[i].code, true);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
}

/* 1 GB, as one string. */
static void test_an_answer_without_end_is_cut_short(void **state)
{
    (void)state;
    static char words[1 << 20];
    memset(words, 'x', sizeof(words));
    memcpy(words, "$1000000000\r\n", 13);
    pid_t child = false_server(words, sizeof(words), true);
    check_refused(-EMSGSIZE, true);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_places_are_checked(void **state)
{
    (void)state;
    static const char *const good[] = {"unix:/run/redis.sock", "tcp:127.0.0.1:6379",
                                       "tcp:[::1]:6379"};
    static const char *const bad[] = {"unix:redis.sock",
                                      "tcp:switch1:6379",
                                      "tcp:127.0.0.1",
                                      "tcp:127.0.0.1:0",
                                      "tcp:[127.0.0.1]:1",
                                      "tcp:::1:6379",
                                      "6379",
                                      "tcp:",
                                      "unix:",
                                      "ssl:127.0.0.1:6379"};
    struct err err = {0};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(redis_check(good[i], &err), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(redis_check(bad[i], &err), -EINVAL);
    struct switch_settings some = {.driver = "sonic", .bridge = "br0"};
    assert_int_equal(switch_sonic.check(&some, &err), -EINVAL);
    some.bridge[0] = '\0';
    assert_int_equal(switch_sonic.check(&some, &err), 0);
    strcpy(some.at, "somewhere");
    assert_int_equal(switch_sonic.check(&some, &err), -EINVAL);
}

static void test_there_is_no_redis(void **state)
{
    (void)state;
    skip_since("there is no redis-tools");
}

#define ON_SITE(test) cmocka_unit_test_setup_teardown(test, begin_site, end)
#define ON_NONE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_SITE(test_one_transaction_is_right_key_by_key),
        ON_SITE(test_a_changed_wish_leaves_nothing_behind),
        ON_SITE(test_somebodys_change_is_noticed),
        ON_SITE(test_after_flush_and_reload_it_is_right),
        ON_SITE(test_a_server_that_comes_back_is_found),
        ON_SITE(test_queues_are_counted),
        ON_SITE(test_a_plan_is_for_what_was_read),
        ON_NONE(test_kills_at_any_moment_leave_what_was_there),
        ON_SITE(test_what_a_batch_undoes_is_written_again),
        ON_NONE(test_a_redis_that_is_no_sonic_is_refused),
        cmocka_unit_test(test_false_servers_are_refused),
        cmocka_unit_test(test_an_answer_without_end_is_cut_short),
        cmocka_unit_test(test_places_are_checked),
    };
    const struct CMUnitTest without[] = {
        cmocka_unit_test(test_there_is_no_redis),
        cmocka_unit_test(test_false_servers_are_refused),
        cmocka_unit_test(test_an_answer_without_end_is_cut_short),
        cmocka_unit_test(test_places_are_checked),
    };
    if (!redis_server_is_there())
        return cmocka_run_group_tests(without, folder_make, folder_remove);
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
