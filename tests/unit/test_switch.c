/* Holds every switch driver to the contract of hostagent/switches/switch.h, each on a real switch
 * of this test's own; a driver whose switch cannot stand here is skipped, by name. */
#include "tests/unit/fastpath_world.h"
#include "tests/unit/folder.h"
#include "tests/unit/kill_schedule.h"
#include "tests/unit/ovs_world.h"
#include "tests/unit/redis_server.h"
#include "tests/unit/sonic_site.h"
#include "tests/unit/test.h"

#include "hostagent/fastpath_link.h"
#include "hostagent/switches/switches.h"
#include "lib/port/port_message.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORTS 3

/* Where a driver is tried: something that a plan has to find stands there besides. */
struct bench {
    const char *driver;
    uint32_t ports;
    struct switch_settings settings;
    struct switch_config config;
    /* 0: it stands; else why it cannot. */
    const char *(*begin)(struct bench *bench);
    void (*plant)(void); /* somebody's, in the place of ours */
    void (*uproot)(void);
    void (*take_over)(void); /* as plant, where ours stand, on one port alone */
    void (*end)(void);
};

static struct port_wish wish_of(uint64_t link_bps, uint32_t levels)
{
    struct port_wish wish = port_wish_preset;
    wish.link_bps = link_bps;
    wish.levels = levels;
    wish.queue_packets = 120;
    return wish;
}

/* ---- linux: three interfaces of a network namespace of our own ------------------------------- */

static const char linux_ports[PORTS][PORT_NAME] = {"p0", "p1", "p2"};

static const char *linux_begin(struct bench *bench)
{
    bench->config.queues = &qdisc_htb;
    bench->config.interfaces = linux_ports;
    bench->config.interfaces_n = PORTS;
    if (unshare(CLONE_NEWNET) < 0)
        return "no network namespace can be made";
    for (int i = 0; i < PORTS; i++) {
        char line[128];
        snprintf(line, sizeof(line), "ip link add %s up type veth peer name q%d", linux_ports[i],
                 i);
        if (system(line) != 0)
            return "no veth can be made";
    }
    return NULL;
}

static void linux_plant(void)
{
    assert_int_equal(system("tc qdisc replace dev p1 root tbf rate 5mbit burst 5kb limit 9kb"), 0);
}

static void linux_uproot(void)
{
    assert_int_equal(system("tc qdisc del dev p1 root"), 0);
}

static void linux_end(void)
{
    for (int i = 0; i < PORTS; i++) {
        char line[64];
        snprintf(line, sizeof(line), "ip link del %s", linux_ports[i]);
        assert_int_equal(system(line), 0);
    }
}

/* ---- ovs: real servers on a data path that is none ------------------------------------------- */

static struct ovs_world world;

static int vsctl(const char *words)
{
    return ovs_world_run("ovs-vsctl --db=unix:%s/db.sock %s >/dev/null", folder, words);
}

static const char *ovs_begin(struct bench *bench)
{
    if (!ovs_world_possible())
        return "openvswitch-switch is not installed";
    bench->config.control_port = 7600;
    strcpy(bench->settings.driver, "ovs");
    strcpy(bench->settings.bridge, "br0");
    snprintf(bench->settings.at, sizeof(bench->settings.at), "unix:%s/db.sock", folder);
    assert_int_equal(switch_find("ovs")->check(&bench->settings, NULL), 0);
    return ovs_world_begin(&world, folder, PORTS) ? NULL : "Open vSwitch does not start";
}

static void ovs_plant(void)
{
    assert_int_equal(vsctl("set port p1 qos=@q -- --id=@q create qos type=linux-htb "
                           "other_config:max-rate=5000000 queues:3=@r -- --id=@r create queue "
                           "other_config:min-rate=1000 external_ids:of=somebody"),
                     0);
}

static void ovs_uproot(void)
{
    assert_int_equal(vsctl("clear port p1 qos -- --all destroy qos -- --all destroy queue"), 0);
}

static void ovs_end(void)
{
    ovs_world_end(&world);
}

/* ---- sonic: a Redis with the CONFIG_DB of three ports, two of which have PFC ----------------- */

static struct redis_server redis;

static const char *sonic_begin(struct bench *bench)
{
    if (!redis_server_is_there())
        return "there is no " REDIS_PROGRAM " (redis-tools)";
    json_t *site = site_bare(PORTS);
    site_objects(site);
    sonic_drop(site, "PORT_QOS_MAP", "global");
    site_queue(site, "Ethernet0,Ethernet4", "3-4", "scheduler.1", "AZURE_LOSSLESS");
    site_set(site, "PORT_QOS_MAP", "Ethernet0", "pfc_enable", "3,4");
    site_set(site, "PORT_QOS_MAP", "Ethernet4", "pfc_enable", "3,4");
    redis_server_begin(&redis, folder, "AKE");
    redis_load(&redis, site);
    json_decref(site);
    snprintf(bench->settings.at, sizeof(bench->settings.at), "%s", redis.at);
    return NULL;
}

static void sonic_plant(void)
{
    redis_do(&redis, "HSET PORT_QOS_MAP|Ethernet4 dscp_to_tc_map STORAGE");
    redis_do(&redis, "HSET QUEUE|Ethernet0,Ethernet4|0-2 scheduler scheduler.0");
    redis_do(&redis, "HSET QUEUE|Ethernet8|1-9 scheduler scheduler.0");
}

static void sonic_take_over(void)
{
    redis_do(&redis, "HSET QUEUE|Ethernet8|7 scheduler scheduler.0");
    redis_do(&redis, "HSET PORT_QOS_MAP|Ethernet8 dscp_to_tc_map STORAGE");
}

static void sonic_uproot(void)
{
    redis_do(&redis, "HDEL PORT_QOS_MAP|Ethernet4 dscp_to_tc_map");
    redis_do(&redis, "DEL QUEUE|Ethernet0,Ethernet4|0-2 QUEUE|Ethernet8|1-9");
}

static void sonic_end(void)
{
    redis_server_end(&redis);
}

/* ---- fastpath: the program itself, on devices that are none ---------------------------------- */

static struct fastpath_world dataplane;

static const char *fastpath_begin(struct bench *bench)
{
    if (!fastpath_world_possible(&dataplane))
        return "duopoly-fastpath is not built: DPDK is missing (make deps-dpdk)";
    snprintf(bench->settings.at, sizeof(bench->settings.at), "unix:%s/fastpath.sock", folder);
    assert_int_equal(switch_find("fastpath")->check(&bench->settings, NULL), 0);
    return fastpath_world_begin(&dataplane, folder) ? NULL : "duopoly-fastpath does not start";
}

static void set_network(bool replace, pb_size_t queues_n)
{
    struct fastpath_link *link;
    const duopoly_Envelope *answer;
    struct err err = {0};
    if (fastpath_link_open(dataplane.socket, 5000, &link, &err) < 0)
        fail_msg("%s", err.text);
    fastpath_link_request(link, duopoly_Envelope_set_dataplane_ports_tag)
        ->body.set_dataplane_ports = (duopoly_SetDataplanePorts){
        .owner = "somebody",
        .replace = replace,
        .ports_count = 1,
        .ports = {{.port = "network",
                   .rate_bps = 5000000,
                   .queues_count = queues_n,
                   .queues = {{.serves = 3, .packets = 20}, {.serves = 0x3fc, .packets = 30}}}}};
    if (fastpath_link_call(link, duopoly_Envelope_accepted_tag, &answer, &err) < 0)
        fail_msg("%s", err.text);
    fastpath_link_close(link);
}

static void fastpath_plant(void)
{
    set_network(false, 2);
}

static void fastpath_take_over(void)
{
    set_network(true, 2);
}

static void fastpath_uproot(void)
{
    set_network(false, 0);
}

static void fastpath_end(void)
{
    fastpath_world_end(&dataplane);
}

/* It forgets all when it ends, and who set its queues hears of it. */
static void test_a_data_plane_that_died_is_told_again(void **state)
{
    struct bench bench = {.driver = "fastpath", .config = {.owner = "tester", .state_dir = folder}};
    char what[256];
    struct switches *switches;
    struct err err = {0};
    (void)state;
    bench.config.settings = &bench.settings;
    bench.config.wish = wish_of(100000000, 8);
    memcpy(bench.config.dscp_of_level, bench.config.wish.dscp_of_level, PORT_LEVELS);
    const char *missing = fastpath_begin(&bench);
    if (missing)
        skip_since(missing);
    assert_int_equal(switches_open(&switch_fastpath, &bench.config, &switches, &err), 0);
    if (switches_apply(switches, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(switches_compare(switches, what, sizeof(what), &err), SWITCHES_RIGHT);
    assert_int_equal(switches_notice(switches, &err), SWITCH_QUIET);
    kill(dataplane.pid, SIGKILL);
    waitpid(dataplane.pid, NULL, 0);
    struct pollfd look = {switches_fd(switches), POLLIN, 0};
    assert_int_equal(poll(&look, 1, 20000), 1);
    assert_int_equal(switches_notice(switches, &err), -ECONNRESET);
    assert_non_null(strstr(err.text, "has ended"));
    assert_int_equal(switches_compare(switches, what, sizeof(what), &err), -ECONNREFUSED);
    fastpath_world_start(&dataplane);
    assert_true(fastpath_world_answers(&dataplane));
    do {
        assert_int_equal(poll(&look, 1, 20000), 1);
    } while (switches_notice(switches, &err) == SWITCH_QUIET);
    assert_int_equal(switches_compare(switches, what, sizeof(what), &err), SWITCHES_DIFFERS);
    assert_int_equal(switches_repair(switches, &err), 0);
    assert_int_equal(switches_compare(switches, what, sizeof(what), &err), SWITCHES_RIGHT);
    assert_int_equal(switches_restore(switches, &err), 0);
    switches_close(switches);
    fastpath_world_end(&dataplane);
}

static struct bench benches[] = {
    {.driver = "linux",
     .ports = PORTS,
     .begin = linux_begin,
     .plant = linux_plant,
     .uproot = linux_uproot,
     .take_over = linux_plant,
     .end = linux_end},
    {.driver = "ovs",
     .ports = PORTS,
     .begin = ovs_begin,
     .plant = ovs_plant,
     .uproot = ovs_uproot,
     .take_over = ovs_plant,
     .end = ovs_end},
    {.driver = "sonic",
     .ports = PORTS,
     .begin = sonic_begin,
     .plant = sonic_plant,
     .uproot = sonic_uproot,
     .take_over = sonic_take_over,
     .end = sonic_end},
    {.driver = "fastpath",
     .ports = 2,
     .begin = fastpath_begin,
     .plant = fastpath_plant,
     .uproot = fastpath_uproot,
     .take_over = fastpath_take_over,
     .end = fastpath_end},
};

/* ---- the contract ---------------------------------------------------------------------------- */

static struct switch_state *open_switch(const struct bench *bench)
{
    struct switch_state *sw = NULL;
    struct err err = {0};
    if (switch_find(bench->driver)->open(&bench->config, &sw, &err) < 0)
        fail_msg("%s: %s", bench->driver, err.text);
    return sw;
}

/* Returns how many steps it took. */
static uint32_t apply(const struct bench *bench, struct switch_state *sw)
{
    const struct switch_driver *driver = switch_find(bench->driver);
    struct switch_plan *plan = NULL;
    struct err err = {0};
    if (driver->plan(sw, false, &plan, &err) < 0 || driver->apply(sw, plan, &err) < 0)
        fail_msg("%s: %s", driver->name, err.text);
    uint32_t n = plan->steps_n;
    for (uint32_t i = 0; i < n; i++) {
        assert_true(plan->steps[i].text[0]);
        assert_non_null(memchr(plan->steps[i].text, 0, SWITCH_STEP_TEXT));
        assert_non_null(memchr(plan->steps[i].port, 0, SWITCH_PORT_NAME));
    }
    driver->free_plan(plan);
    return n;
}

static char *record(const struct bench *bench, struct switch_state *sw)
{
    char *text = NULL;
    struct err err = {0};
    if (switch_find(bench->driver)->record(sw, &text, &err) < 0)
        fail_msg("%s: %s", bench->driver, err.text);
    return text;
}

static void check_record(const struct bench *bench, struct switch_state *sw, const char *before)
{
    char *now = record(bench, sw);
    assert_string_equal(before, now);
    free(now);
}

static void restore(const struct bench *bench, struct switch_state *sw)
{
    struct err err = {0};
    if (switch_find(bench->driver)->restore(sw, &err) < 0)
        fail_msg("%s: %s", bench->driver, err.text);
}

static void check_ports(const struct bench *bench, struct switch_state *sw)
{
    struct switch_ports *ports = NULL;
    struct err err = {0};
    assert_int_equal(switch_find(bench->driver)->ports(sw, &ports, &err), 0);
    assert_int_equal(ports->n, bench->ports);
    for (uint32_t i = 0; i < ports->n; i++) {
        struct port want;
        assert_int_equal(port_want(&bench->config.wish, &ports->ports[i].facts, &want, &err), 0);
        assert_true(i == 0 || strcmp(ports->ports[i - 1].name, ports->ports[i].name) < 0);
    }
    free(ports);
}

static void hold_to_contract(struct bench *bench)
{
    const struct switch_driver *driver = switch_find(bench->driver);
    const struct port_wish wishes[] = {wish_of(100000000, 8), wish_of(100000000, 1),
                                       wish_of(50000000, 8), wish_of(4000000000, 4)};
    struct switch_state *sw = open_switch(bench);
    struct switch_stats stats;
    struct err err = {0};
    char *before = record(bench, sw);
    check_ports(bench, sw);
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        driver->close(sw);
        bench->config.wish = wishes[i];
        sw = open_switch(bench);
        assert_true(apply(bench, sw) > 0);
        assert_int_equal(apply(bench, sw), 0);
    }
    if (driver->stats(sw, &stats, &err) < 0)
        fail_msg("%s: %s", driver->name, err.text);
    restore(bench, sw);
    check_record(bench, sw, before);
    restore(bench, sw);
    check_record(bench, sw, before);
    free(before);
    driver->close(sw);
    driver->close(NULL);
    driver->free_plan(NULL);
}

/* What is somebody's makes room where that is allowed, and comes back; else nothing changes. */
static void respect_others(struct bench *bench)
{
    const struct switch_driver *driver = switch_find(bench->driver);
    struct switch_plan *plan = NULL;
    struct err err = {0};
    bench->plant();
    struct switch_state *sw = open_switch(bench);
    char *before = record(bench, sw);
    assert_int_equal(driver->plan(sw, false, &plan, &err), 0);
    assert_true(plan->troubles_n > 0);
    for (uint32_t i = 0; i < plan->troubles_n; i++) {
        assert_true(plan->troubles[i].left);
        assert_int_equal(plan->troubles[i].code, EBUSY);
        assert_int_equal(
            strncmp(plan->troubles[i].text, plan->troubles[i].port, strlen(plan->troubles[i].port)),
            0);
    }
    driver->free_plan(plan);
    check_record(bench, sw, before);
    driver->close(sw);

    bench->config.replace = true;
    sw = open_switch(bench);
    assert_true(apply(bench, sw) > 0);
    assert_int_equal(apply(bench, sw), 0);
    restore(bench, sw);
    check_record(bench, sw, before);
    driver->close(sw);
    bench->config.replace = false;
    free(before);
    bench->uproot();
}

static bool differs(const struct switches *switches, const char *port)
{
    const struct switch_trouble *deed;
    for (uint32_t i = 0; (deed = switches_differing(switches, i)); i++)
        if (strcmp(deed->port, port) == 0)
            return true;
    return false;
}

static int compare(struct switches *switches)
{
    char what[SWITCH_TROUBLE_TEXT];
    struct err err = {0};
    int r = switches_compare(switches, what, sizeof(what), &err);
    if (r < 0)
        fail_msg("%s", err.text);
    return r;
}

/* Nothing is done on a port that is yielded, and all others are put right; then it is, too. */
static void leave_what_is_yielded(struct bench *bench)
{
    const struct switch_driver *driver = switch_find(bench->driver);
    struct switches *switches;
    struct err err = {0};
    char port[SWITCH_PORT_NAME], lacks[SWITCH_TROUBLE_TEXT];
    assert_int_equal(switches_open(driver, &bench->config, &switches, &err), 0);
    assert_int_equal(switches_apply(switches, &err), 0);
    bench->take_over();
    assert_int_equal(compare(switches), SWITCHES_DIFFERS);
    uint32_t last = 0;
    while (switches_differing(switches, last + 1))
        last++;
    const struct switch_trouble *deed = switches_differing(switches, last);
    assert_true(deed->port[0] && strstr(deed->text, "somebody changed our queues"));
    memcpy(port, deed->port, sizeof(port));
    assert_int_equal(switches_yield(switches, port, &err), 0);
    for (int i = 0; i < 2; i++) {
        int verdict = compare(switches);
        assert_true(verdict == SWITCHES_RIGHT || (i == 0 && verdict == SWITCHES_DIFFERS));
        assert_false(verdict == SWITCHES_DIFFERS && differs(switches, port));
        assert_non_null(
            strstr(switches_troubles(switches, lacks, sizeof(lacks)), "is left as it is"));
        assert_int_equal(switches_repair(switches, &err), 0);
    }
    switches_yield_none(switches);
    assert_int_equal(compare(switches), SWITCHES_DIFFERS);
    assert_true(differs(switches, port));
    assert_int_equal(switches_repair(switches, &err), 0);
    assert_int_equal(compare(switches), SWITCHES_RIGHT);
    assert_int_equal(switches_restore(switches, &err), 0);
    switches_close(switches);
}

static void survive_kills(struct bench *bench)
{
    struct switch_state *sw = open_switch(bench);
    char *before = record(bench, sw);
    uint64_t stream = test_seed();
    for (int i = 0; i < 20; i++) {
        schedule_kill(switch_find(bench->driver), &bench->config, &stream, 20000);
        check_record(bench, sw, before);
    }
    free(before);
    switch_find(bench->driver)->close(sw);
}

/* In a process of its own: it may take a network namespace. */
static void try_bench(struct bench *bench)
{
    pid_t child = fork();
    int status;
    assert_true(child >= 0);
    if (child == 0) {
        bench->config.settings = &bench->settings;
        bench->config.owner = "tester";
        bench->config.state_dir = folder;
        bench->config.wish = wish_of(100000000, 8);
        memcpy(bench->config.dscp_of_level, bench->config.wish.dscp_of_level, PORT_LEVELS);
        const char *why_not = bench->begin(bench);
        if (!why_not) {
            hold_to_contract(bench);
            respect_others(bench);
            leave_what_is_yielded(bench);
            survive_kills(bench);
            bench->end();
        } else {
            fprintf(stderr, "# %s is skipped: %s\n", bench->driver, why_not);
        }
        fflush(NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_every_driver_keeps_the_contract(void **state)
{
    (void)state;
    size_t n = sizeof(benches) / sizeof(benches[0]);
    for (size_t i = 0; switch_all[i]; i++) {
        size_t j = 0;
        assert_ptr_equal(switch_find(switch_all[i]->name), switch_all[i]);
        while (j < n && strcmp(benches[j].driver, switch_all[i]->name) != 0)
            j++;
        assert_true(j < n);
        try_bench(&benches[j]);
    }
    assert_null(switch_find("no such driver"));
}

static void test_patterns_select_ports(void **state)
{
    (void)state;
    struct switch_settings settings = {0};
    assert_true(switch_selects(&settings, "eth0"));
    settings = (struct switch_settings){.ports = {{"eth[0-3]"}, {"swp*"}}, .ports_n = 2};
    assert_true(switch_selects(&settings, "eth3"));
    assert_true(switch_selects(&settings, "swp17"));
    assert_false(switch_selects(&settings, "eth4"));
}

static void test_what_stood_there_is_kept_and_forgotten(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(switch_kept(folder, &text, NULL), 0);
    assert_null(text);
    assert_int_equal(switch_keep(folder, "port eth0\n", NULL), 0);
    assert_int_equal(switch_kept(folder, &text, NULL), 0);
    assert_string_equal(text, "port eth0\n");
    free(text);
    assert_int_equal(switch_forget(folder, NULL), 0);
    assert_int_equal(switch_forget(folder, NULL), 0);
    assert_int_equal(switch_kept(folder, &text, NULL), 0);
    assert_null(text);
}

static void test_a_plan_is_bounded(void **state)
{
    (void)state;
    struct switch_plan plan = {0};
    struct err err = {0};
    for (int i = 0; i < SWITCH_STEPS; i++)
        assert_int_equal(switch_step_add(&plan, SWITCH_ADD, "p", &err, "queue %d", i), 0);
    assert_int_equal(switch_step_add(&plan, SWITCH_ADD, "p", &err, "queue"), -E2BIG);
    assert_string_equal(plan.steps[12345].text, "queue 12345");
    free(plan.steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_driver_keeps_the_contract),
        cmocka_unit_test(test_a_data_plane_that_died_is_told_again),
        cmocka_unit_test(test_patterns_select_ports),
        cmocka_unit_test(test_what_stood_there_is_kept_and_forgotten),
        cmocka_unit_test(test_a_plan_is_bounded),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
