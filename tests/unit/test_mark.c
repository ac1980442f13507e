/* Holds every mark driver to the contract of hostagent/marks/mark_driver.h. The kernel's runs on
 * the loopback interface of a network namespace and in a cgroup of the test's own; without the
 * right to make them it is skipped. Packets are the affair of tests/net/test_marks.py. */
#include "tests/unit/removal.h"
#include "tests/unit/test.h"

#include "hostagent/marks/mark_driver.h"
#include "hostagent/marks/marks.h"
#include "hostagent/tasks/cgroup.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static bool own_namespace;
static char directory[] = "/tmp/duopoly-test-XXXXXX";
static char cgroup[FILES_PATH], bpffs[FILES_PATH];
static const char ports[1][PORT_NAME] = {"lo"};

static struct mark_config config_of(uint32_t flows)
{
    struct mark_config config = {.reach = MARK_REACH_QUEUES,
                                 .bpffs = bpffs,
                                 .state_dir = directory,
                                 .cgroup = cgroup,
                                 .ports = ports,
                                 .ports_n = 1,
                                 .flows_max = flows,
                                 .dscp_of_level = {3, 7, 11, 15, 19, 23, 27, 31}};
    assert_int_equal(mark_prefix_parse("10.0.0.0/8", &config.members[0], NULL), 0);
    config.members_n = 1;
    return config;
}

static uint32_t changes_by(int (*plan)(const struct mark_config *config, struct changes *changes,
                                       struct err *err),
                           const struct mark_config *config)
{
    struct changes changes = {0};
    struct err err = {0};
    if (plan(config, &changes, &err) < 0)
        fail_msg("%s", err.text);
    uint32_t n = changes.n;
    changes_free(&changes);
    return n;
}

static uint32_t changes_of(const struct mark_driver *driver, const struct mark_config *config)
{
    return changes_by(driver->plan, config);
}

static void hold_to_contract(const struct mark_driver *driver)
{
    struct mark_config config = config_of(1024);
    uint32_t before = changes_of(driver, &config);
    assert_int_equal(before > 0, driver != &mark_recorder);
    assert_int_equal(changes_by(driver->plan_remove, &config), 0);
    struct mark *mark = NULL;
    struct err err = {0};
    uint64_t bytes = 77;
    uint32_t mode = 77;
    struct mark_stats stats;
    const struct mark_task_levels levels[2] = {{.cgroup = 11, .coflow = 1, .macroflow = 2},
                                               {.cgroup = 12, .coflow = MARK_UNMARKED}};
    if (driver->open(&config, &mark, &err) < 0)
        fail_msg("%s: %s", driver->name, err.text);
    assert_int_equal(changes_of(driver, &config), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(driver->task_set(mark, &levels[i % 2], &err), 0);
    assert_int_equal(driver->mode_set(mark, 1, &err), 0);
    assert_int_equal(driver->mode_get(mark, &mode, &err), 0);
    assert_int_equal(mode, 1);
    assert_int_equal(driver->mode_set(mark, 2, &err), -EINVAL);
    assert_int_equal(driver->lease_renew(mark, 1000000000, &err), 0);
    assert_int_equal(driver->received(mark, 11, &bytes, &err), 0);
    assert_int_equal(bytes, 0);
    assert_int_equal(driver->received(mark, 999, &bytes, &err), 0);
    assert_int_equal(driver->stats(mark, &stats, &err), 0);
    assert_int_equal(stats.lease_expiries, 0);
    assert_int_equal(driver->task_end(mark, 11, &err), 0);
    assert_int_equal(driver->task_forget(mark, 11, &err), 0);
    assert_int_equal(driver->task_end(mark, 999, &err), 0);
    driver->close(mark);
    driver->close(NULL);
    assert_int_equal(changes_of(driver, &config), 0);
    assert_int_equal(changes_by(driver->plan_remove, &config) > 0, driver != &mark_recorder);
    assert_int_equal(driver->remove(&config, &err), 0);
    assert_int_equal(changes_by(driver->plan_remove, &config), 0);
    assert_int_equal(driver->remove(&config, &err), 0);
    assert_int_equal(changes_of(driver, &config), before);
}

static void test_every_driver_keeps_the_contract(void **state)
{
    (void)state;
    for (size_t i = 0; mark_all[i]; i++) {
        assert_ptr_equal(mark_find(mark_all[i]->name), mark_all[i]);
        if (own_namespace || mark_all[i] == &mark_recorder)
            hold_to_contract(mark_all[i]);
    }
    assert_null(mark_find("no such driver"));
    if (!own_namespace)
        skip_since("no network namespace of its own (root is needed)");
}

/* How many of the changes that marks_plan tells take something away; each file is said. */
static uint32_t removals_of(const struct mark_config *config, uint32_t *ret_all,
                            uint32_t *ret_files)
{
    struct changes changes = {0};
    struct err err = {0};
    uint32_t n = 0;
    if (marks_plan(config, &changes, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(changes.refusals_n, 0);
    for (uint32_t i = 0; i < changes.n; i++)
        n += changes.items[i].verb == CHANGE_REMOVE;
    *ret_files = 0;
    for (uint32_t i = 0; i < changes.n; i++)
        *ret_files += changes.items[i].verb == CHANGE_ADD && !strcmp(changes.items[i].kind, "file");
    *ret_all = changes.n;
    changes_free(&changes);
    return n;
}

static void test_a_plan_tells_what_another_driver_left(void **state)
{
    static const char *const drivers[] = {"ebpf", "nftables", "ebpf", "auto"};
    struct mark_config config = config_of(1024);
    struct err err = {0};
    (void)state;
    if (!own_namespace)
        skip_since("no network namespace of its own (root is needed)");
    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
        struct marks *marks = NULL;
        uint32_t all, files;
        config.driver = drivers[i];
        assert_int_equal(removals_of(&config, &all, &files) > 0, i == 1 || i == 2);
        assert_int_equal(files > 0, i < 3);
        if (marks_open(&config, NULL, &marks, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(removals_of(&config, &all, &files), 0);
        assert_int_equal(all, 0);
        marks_close(marks);
    }
    assert_int_equal(marks_remove(&config, &err), 0);
}

static void test_the_kernel_keeps_state_between_agents(void **state)
{
    (void)state;
    struct mark_config config = config_of(1024);
    struct mark *mark = NULL;
    struct err err = {0};
    struct mark_stats stats;
    uint32_t mode = 0;
    if (!own_namespace)
        skip_since("no network namespace of its own (root is needed)");
    const struct mark_driver *driver = &mark_ebpf;
    struct mark_flow_levels flow = {.owner = 5, .coflow = 1, .macroflow = 1};
    memcpy(flow.key.peer, config.members[0].address, sizeof(flow.key.peer));
    assert_int_equal(driver->open(&config, &mark, &err), 0);
    assert_int_equal(driver->mode_set(mark, 1, &err), 0);
    assert_int_equal(driver->flows_set(mark, &flow, 1, &err), 0);
    flow.owner = 6;
    assert_int_equal(driver->flows_set(mark, &flow, 1, &err), 0);
    assert_int_equal(driver->stats(mark, &stats, &err), 0);
    assert_int_equal(stats.flows, 1);
    assert_int_equal(stats.shared_connections, 1);
    driver->close(mark);

    assert_int_equal(driver->open(&config, &mark, &err), 0);
    assert_int_equal(driver->mode_get(mark, &mode, &err), 0);
    assert_int_equal(mode, 1);
    assert_int_equal(driver->stats(mark, &stats, &err), 0);
    assert_int_equal(stats.flows, 1);
    driver->close(mark);

    config.flows_max = 2048; /* a map of another bound takes all over */
    assert_int_equal(driver->open(&config, &mark, &err), 0);
    assert_int_equal(driver->mode_get(mark, &mode, &err), 0);
    assert_int_equal(mode, 1);
    assert_int_equal(driver->stats(mark, &stats, &err), 0);
    assert_int_equal(stats.flows, 1);
    assert_int_equal(stats.evictions, 0);
    driver->close(mark);

    config.members[0].address[12] = 11; /* the flow's peer is no member any more */
    assert_int_equal(driver->open(&config, &mark, &err), 0);
    assert_int_equal(driver->stats(mark, &stats, &err), 0);
    assert_int_equal(stats.flows, 0);
    assert_int_equal(stats.evictions, 0);
    driver->close(mark);
    assert_int_equal(driver->remove(&config, &err), 0);
}

static void test_many_flows_in_batches(void **state)
{
    (void)state;
    struct mark_config config = config_of(4096);
    struct mark *mark = NULL;
    struct err err = {0};
    struct mark_stats stats;
    static struct mark_flow_levels flows[1500];
    if (!own_namespace)
        skip_since("no network namespace of its own (root is needed)");
    assert_int_equal(mark_ebpf.open(&config, &mark, &err), 0);
    for (uint16_t i = 0; i < 1500; i++) {
        flows[i] = (struct mark_flow_levels){.owner = 1, .coflow = 1};
        flows[i].key.local_port = i;
    }
    if (mark_ebpf.flows_set(mark, flows, 1500, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(mark_ebpf.stats(mark, &stats, &err), 0);
    assert_int_equal(stats.flows, 1500);
    mark_ebpf.close(mark);
    assert_int_equal(mark_ebpf.remove(&config, &err), 0);
}

static void test_the_recorder_says_what_it_was_told(void **state)
{
    (void)state;
    struct mark_config config = config_of(64);
    struct mark *mark = NULL;
    const struct mark_task_levels levels = {.cgroup = 4, .coflow = 1, .macroflow = 2};
    assert_int_equal(mark_recorder.open(&config, &mark, NULL), 0);
    mark_recorder.task_set(mark, &levels, NULL);
    mark_recorder.mode_set(mark, 1, NULL);
    mark_recorder.task_end(mark, 4, NULL);
    assert_string_equal(mark_recorder_text(mark), "task 4 levels 1 2\nmode 1\ntask 4 end\n");
    mark_recorder.close(mark);
}

static void test_prefixes(void **state)
{
    (void)state;
    struct mark_prefix p;
    struct err err = {0};
    assert_int_equal(mark_prefix_parse("10.1.2.3/8", &p, &err), 0);
    assert_int_equal(p.bits, 104);
    assert_memory_equal(p.address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\0", 16);
    assert_int_equal(mark_prefix_parse("192.168.0.1", &p, &err), 0);
    assert_int_equal(p.bits, 128);
    assert_int_equal(mark_prefix_parse("fd00::1/16", &p, &err), 0);
    assert_int_equal(p.bits, 16);
    assert_memory_equal(p.address, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    assert_int_equal(mark_prefix_parse("0.0.0.0/0", &p, &err), 0);
    assert_int_equal(p.bits, 96);
    static const char *const bad[] = {"",     "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/",
                                      "host", "::/129",      "1.2.3.4/8x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(mark_prefix_parse(bad[i], &p, &err), -EINVAL);
        assert_true(strlen(err.text) > 10);
    }
}

static void test_settings_are_the_design_s(void **state)
{
    (void)state;
    struct mark_config config = config_of(64);
    struct mark_settings settings;
    const uint32_t classes[PORT_TRAFFIC] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    memcpy(config.class_of, classes, sizeof(classes));
    mark_settings_of(&config, &settings);
    assert_int_equal(settings.level_of_dscp[3], 0);
    assert_int_equal(settings.level_of_dscp[31], 7);
    assert_int_equal(settings.level_of_dscp[0], MARK_UNMARKED);
    assert_int_equal(settings.level_of_dscp[46], MARK_UNMARKED);
    assert_int_equal(settings.class_control, 1);
    assert_int_equal(settings.class_of_level[0], 2);
    assert_int_equal(settings.class_of_level[7], 9);
    assert_int_equal(settings.class_unmanaged, 10);
}

static int set_up(void **state)
{
    char root[FILES_PATH];
    (void)state;
    if (!mkdtemp(directory) || cgroup_find_root(root, NULL) < 0)
        return own_namespace ? -1 : 0;
    files_path(cgroup, "%.400s/%s", root, directory + strlen("/tmp/"));
    files_path(bpffs, "%s/bpf", directory);
    return own_namespace ? mkdir(cgroup, 0755) : 0;
}

static int tear_down(void **state)
{
    (void)state;
    umount(bpffs);
    rmdir(cgroup);
    return removal_of(directory);
}

int main(void)
{
    own_namespace = unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 &&
                    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_driver_keeps_the_contract),
        cmocka_unit_test(test_a_plan_tells_what_another_driver_left),
        cmocka_unit_test(test_the_kernel_keeps_state_between_agents),
        cmocka_unit_test(test_many_flows_in_batches),
        cmocka_unit_test(test_the_recorder_says_what_it_was_told),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_settings_are_the_design_s),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
