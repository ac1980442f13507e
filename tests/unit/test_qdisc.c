/* Holds every queue driver to the contract of hostagent/queues/qdisc.h. Drivers of the kernel run
 * on the loopback interface of a network namespace of the test's own; without the right to make one
 * they are skipped.
 *
 * Guests: uml, qemu. */
#include "tests/unit/test.h"

#include "hostagent/queues/queues.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool own_namespace;

/* The recorder on a port where somebody's tbf stands. */
static struct qdisc_driver planted;

static int open_planted(struct qdisc **ret_qdisc, struct err *err)
{
    int r = qdisc_recorder.open(ret_qdisc, err);
    if (r >= 0)
        qdisc_recorder_plant(*ret_qdisc, "tbf");
    return r;
}

static struct port_wish wish_of(uint64_t link_bps, uint32_t levels)
{
    struct port_wish wish = port_wish_preset;
    wish.link_bps = link_bps;
    wish.levels = levels;
    wish.queue_packets = 120;
    return wish;
}

/* Brings the wish about; returns how many steps it took. */
static uint32_t apply(const struct qdisc_driver *driver, struct qdisc *qdisc,
                      const struct port_wish *wish)
{
    struct port_facts facts;
    struct port want;
    struct qdisc_plan *plan;
    struct err err = {0};
    assert_int_equal(driver->facts(qdisc, "lo", &facts, &err), 0);
    assert_int_equal(port_want(wish, &facts, &want, &err), 0);
    assert_int_equal(driver->plan(qdisc, "lo", &want, &plan, &err), 0);
    if (driver->apply(qdisc, "lo", plan, &err) < 0)
        fail_msg("%s: %s", driver->name, err.text);
    uint32_t steps = plan->steps;
    for (uint32_t i = 0; driver->say && i < steps; i++) {
        char text[8] = "";
        driver->say(plan, i, text, sizeof(text));
        assert_int_equal(strlen(text), sizeof(text) - 1);
    }
    free(plan);
    return steps;
}

static enum qdisc_root root_of(const struct qdisc_driver *driver, struct qdisc *qdisc)
{
    struct port_wish wish = wish_of(100000000, 8);
    struct port_facts facts;
    struct port want;
    struct qdisc_plan *plan;
    assert_int_equal(driver->facts(qdisc, "lo", &facts, NULL), 0);
    assert_int_equal(port_want(&wish, &facts, &want, NULL), 0);
    assert_int_equal(driver->plan(qdisc, "lo", &want, &plan, NULL), 0);
    enum qdisc_root root = plan->root;
    free(plan);
    return root;
}

/* Traffic of different queues has different classes, that of one queue has one. */
static void check_classes(const struct qdisc_driver *driver, const struct port_wish *wish)
{
    uint32_t class[PORT_TRAFFIC];
    struct port_facts facts = {
        .mtu_bytes = 1500, .queues_n = PORT_TRAFFIC, .abilities = driver->abilities};
    struct port want;
    assert_int_equal(port_want(wish, &facts, &want, NULL), 0);
    assert_int_equal(qdisc_classes(driver, wish, class, NULL), 0);
    for (int a = 0; a < PORT_TRAFFIC; a++) {
        assert_int_not_equal(class[a], 0);
        for (int b = 0; b < a; b++)
            assert_int_equal(class[a] == class[b], want.queue_of[a] == want.queue_of[b]);
    }
}

/* This kernel has not got the driver's qdisc, and it says which. */
static bool is_absent(const struct qdisc_driver *driver, int facts, const struct err *err)
{
    if (facts != -EOPNOTSUPP) {
        assert_int_equal(facts, 0);
        return false;
    }
    char module[32];
    snprintf(module, sizeof(module), "sch_%s", driver->name);
    assert_non_null(strstr(err->text, module));
    print_message("driver %s: %s\n", driver->name, err->text);
    return true;
}

static void hold_to_contract(const struct qdisc_driver *driver)
{
    struct qdisc *qdisc = NULL;
    char *before, *after;
    struct qdisc_stats stats;
    struct port_facts facts;
    struct err err = {0};
    assert_int_equal(driver->open(&qdisc, &err), 0);
    if (is_absent(driver, driver->facts(qdisc, "lo", &facts, &err), &err)) {
        driver->close(qdisc);
        return;
    }
    assert_true(facts.mtu_bytes >= 1280);
    print_message("driver %s: strict %d, floors %d, ECN %d, hardware %d\n", driver->name,
                  facts.abilities.strict, facts.abilities.floors, facts.abilities.ecn,
                  facts.abilities.hardware);
    assert_int_equal(driver->record(qdisc, "lo", &before, &err), 0);

    const struct port_wish wishes[] = {wish_of(100000000, 8), wish_of(100000000, 1),
                                       wish_of(50000000, 8), wish_of(40000000000, 4)};
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        assert_true(apply(driver, qdisc, &wishes[i]) > 0);
        assert_int_equal(apply(driver, qdisc, &wishes[i]), 0);
        check_classes(driver, &wishes[i]);
    }
    assert_int_equal(driver->stats(qdisc, "lo", &stats, &err), 0);
    assert_int_equal(root_of(driver, qdisc), QDISC_OURS);
    assert_int_equal(driver->restore(qdisc, "lo", before, false, &err), 1);
    assert_int_equal(root_of(driver, qdisc), QDISC_EMPTY);
    assert_int_equal(driver->record(qdisc, "lo", &after, &err), 0);
    assert_string_equal(before, after);
    assert_int_equal(driver->restore(qdisc, "lo", before, false, &err), 0);
    free(before);
    free(after);
    driver->close(qdisc);
    driver->close(NULL);
}

static void test_every_driver_keeps_the_contract(void **state)
{
    (void)state;
    for (size_t i = 0; qdisc_all[i]; i++) {
        assert_ptr_equal(qdisc_find(qdisc_all[i]->name), qdisc_all[i]);
        if (own_namespace || qdisc_all[i] == &qdisc_recorder)
            hold_to_contract(qdisc_all[i]);
    }
    assert_null(qdisc_find("no such driver"));
    if (!own_namespace)
        skip_since("no network namespace of its own (root is needed)");
}

static void test_the_recorder_says_what_it_was_told(void **state)
{
    (void)state;
    struct qdisc *qdisc = NULL;
    struct port_wish wish = wish_of(100000000, 1);
    assert_int_equal(qdisc_recorder.open(&qdisc, NULL), 0);
    qdisc_recorder_plant(qdisc, "tbf");
    assert_int_equal(apply(&qdisc_recorder, qdisc, &wish), 3);
    assert_string_equal(qdisc_recorder_text(qdisc),
                        "lo control priority 0 floor 1000000 packets 120 ecn 15\n"
                        "lo level 0 priority 1 floor 0 packets 960 ecn 15\n"
                        "lo unmanaged priority 2 floor 10000000 packets 120 ecn 15\n");
    qdisc_recorder.close(qdisc);
}

static void test_a_foreign_qdisc_is_refused_or_replaced(void **state)
{
    (void)state;
    char directory[] = "/tmp/duopoly-queues-XXXXXX";
    assert_non_null(mkdtemp(directory));
    struct queues_config config = {
        .driver = &planted, .state_dir = directory, .wish = wish_of(100000000, 8)};
    const char ports[1][PORT_NAME] = {"eth0"};
    struct queues *queues;
    struct err err = {0};
    assert_int_equal(queues_open(&config, ports, 1, &queues, &err), 0);
    assert_int_equal(queues_apply(queues, &err), 0);
    const struct err *trouble = queues_trouble(queues, 0);
    assert_non_null(trouble);
    assert_int_equal(trouble->code, EBUSY);
    assert_non_null(strstr(trouble->text, "eth0"));
    assert_non_null(strstr(trouble->text, "tbf"));
    queues_close(queues);
    config.replace = true;
    assert_int_equal(queues_open(&config, ports, 1, &queues, &err), 0);
    assert_int_equal(queues_apply(queues, &err), 0);
    assert_null(queues_trouble(queues, 0));
    assert_int_equal(queues_restore(queues, &err), 0);
    queues_close(queues);
    assert_int_equal(rmdir(directory), 0);
}

/* The recorder counts one packet a port. */
static void test_counters_of_many_ports_are_read_in_turn(void **state)
{
    (void)state;
    enum { PORTS = 2 * QUEUES_STATS_PORTS + 1 };
    static char names[PORTS][PORT_NAME];
    const struct queues_config config = {
        .driver = &qdisc_recorder, .state_dir = "/nonexistent", .wish = port_wish_preset};
    struct queues *queues;
    struct err err = {0};
    for (int i = 0; i < PORTS; i++)
        snprintf(names[i], PORT_NAME, "port%d", i);
    assert_int_equal(queues_open(&config, names, PORTS, &queues, &err), 0);
    const uint64_t read[] = {QUEUES_STATS_PORTS, 2 * QUEUES_STATS_PORTS, PORTS, PORTS};
    for (int i = 0; i < 4; i++) {
        struct qdisc_stats stats;
        assert_int_equal(queues_stats(queues, &stats, &err), 0);
        assert_int_equal(stats.queues[0].packets, read[i]);
    }
    queues_close(queues);
}

static void test_a_missing_interface_is_said(void **state)
{
    (void)state;
    struct qdisc *qdisc = NULL;
    struct port_facts facts;
    struct err err = {0};
    assert_int_equal(qdisc_htb.open(&qdisc, &err), 0);
    assert_int_equal(qdisc_htb.facts(qdisc, "no-such-port", &facts, &err), -ENODEV);
    assert_non_null(strstr(err.text, "no-such-port"));
    qdisc_htb.close(qdisc);
}

int main(void)
{
    planted = qdisc_recorder;
    planted.open = open_planted;
    own_namespace = unshare(CLONE_NEWNET) == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_driver_keeps_the_contract),
        cmocka_unit_test(test_the_recorder_says_what_it_was_told),
        cmocka_unit_test(test_a_foreign_qdisc_is_refused_or_replaced),
        cmocka_unit_test(test_counters_of_many_ports_are_read_in_turn),
        cmocka_unit_test(test_a_missing_interface_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
