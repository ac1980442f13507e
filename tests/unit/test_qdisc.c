/* Holds every queue driver to the contract of hostagent/queues/qdisc.h. Drivers of the kernel run on the
 * loopback interface of a network namespace of the test's own; without the right to make one they
 * are skipped. */
#include "tests/unit/test.h"

#include "hostagent/queues/qdisc.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

static bool own_namespace;

static struct port_plan plan_of(uint64_t link_bps, uint32_t levels)
{
    return (struct port_plan){.link_bps = link_bps,
                              .levels = levels,
                              .leaf_packets = 120,
                              .floor_permille = 10,
                              .unmanaged_permille = 100,
                              .control_permille = 10,
                              .mtu_bytes = 1500};
}

/* Applies the plan; returns how many steps it took. */
static uint32_t apply(const struct qdisc_driver *driver, struct qdisc *qdisc,
                      const struct port_plan *plan)
{
    struct port_tree want, have;
    struct port_step steps[WANT_STEPS];
    struct err err = {0};
    uint32_t n;
    assert_int_equal(driver->want(plan, &want, &err), 0);
    assert_int_equal(driver->have(qdisc, "lo", &have, &err), 0);
    assert_int_equal(want_steps("lo", &want, &have, true, steps, &n, &err), 0);
    if (driver->apply(qdisc, "lo", steps, n, &err) < 0)
        fail_msg("%s: %s", driver->name, err.text);
    return n;
}

static void hold_to_contract(const struct qdisc_driver *driver)
{
    struct qdisc *qdisc = NULL;
    struct qdisc_record before, after;
    struct qdisc_stats stats;
    struct port_tree have;
    struct err err = {0};
    uint32_t mtu = 0;
    assert_int_equal(driver->open(&qdisc, &err), 0);
    assert_int_equal(driver->mtu(qdisc, "lo", &mtu, &err), 0);
    assert_true(mtu >= 1280);
    assert_int_equal(driver->record(qdisc, "lo", &before, &err), 0);

    const struct port_plan plans[] = {plan_of(100000000, 8), plan_of(100000000, 1),
                                      plan_of(50000000, 8), plan_of(40000000000, 4)};
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
        assert_true(apply(driver, qdisc, &plans[i]) > 0);
        assert_int_equal(apply(driver, qdisc, &plans[i]), 0);
    }
    assert_int_equal(driver->stats(qdisc, "lo", &stats, &err), 0);
    assert_int_equal(driver->restore(qdisc, "lo", &before, &err), 0);
    assert_int_equal(driver->have(qdisc, "lo", &have, &err), 0);
    assert_int_equal(have.root, PORT_EMPTY);
    assert_int_equal(driver->record(qdisc, "lo", &after, &err), 0);
    assert_string_equal(before.text, after.text);
    assert_int_equal(driver->restore(qdisc, "lo", &before, &err), 0);
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
        skip();
}

static void test_the_recorder_says_what_it_was_told(void **state)
{
    (void)state;
    struct qdisc *qdisc = NULL;
    struct port_plan plan = plan_of(100000000, 1);
    assert_int_equal(qdisc_recorder.open(&qdisc, NULL), 0);
    qdisc_recorder_plant(qdisc, "tbf");
    assert_int_equal(apply(&qdisc_recorder, qdisc, &plan), 1 + 4 + 3);
    assert_memory_equal(qdisc_recorder_text(qdisc), "lo root 0 ", 10);
    assert_non_null(
        strstr(qdisc_recorder_text(qdisc), "lo leaf 20 prio 0 rate 11125000 limit 960\n"));
    qdisc_recorder.close(qdisc);
}

static void test_a_missing_interface_is_said(void **state)
{
    (void)state;
    struct qdisc *qdisc = NULL;
    struct port_tree have;
    struct err err = {0};
    assert_int_equal(qdisc_htb.open(&qdisc, &err), 0);
    assert_int_equal(qdisc_htb.have(qdisc, "no-such-port", &have, &err), -ENODEV);
    assert_non_null(strstr(err.text, "no-such-port"));
    qdisc_htb.close(qdisc);
}

int main(void)
{
    own_namespace = unshare(CLONE_NEWNET) == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_driver_keeps_the_contract),
        cmocka_unit_test(test_the_recorder_says_what_it_was_told),
        cmocka_unit_test(test_a_missing_interface_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
