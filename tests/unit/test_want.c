#include "tests/unit/test.h"

#include "hostagent/queues/want.h"

#include <errno.h>
#include <string.h>

static struct port_plan plan_100mbps(void)
{
    return (struct port_plan){.link_bps = 100000000,
                              .levels = 8,
                              .leaf_packets = 100,
                              .floor_permille = 10,
                              .unmanaged_permille = 100,
                              .control_permille = 10,
                              .mtu_bytes = 1500};
}

static uint64_t leaf_rates(const struct port_tree *tree)
{
    uint64_t sum = 0;
    for (uint32_t i = 1; i < tree->classes_n; i++)
        sum += tree->classes[i].rate_bytes_s;
    return sum;
}

static void test_the_design_s_tree_at_100_mbps(void **state)
{
    (void)state;
    struct port_plan plan = plan_100mbps();
    struct port_tree tree;
    assert_int_equal(want_tree(&plan, &tree, NULL), 0);
    assert_int_equal(tree.classes_n, 11);
    assert_int_equal(tree.default_minor, WANT_UNMANAGED);
    assert_int_equal(tree.classes[1].minor, WANT_CONTROL);
    assert_int_equal(tree.classes[1].rate_bytes_s, 125000);
    assert_int_equal(tree.classes[2].minor, WANT_LEVEL(0));
    assert_int_equal(tree.classes[2].rate_bytes_s, 12500000 - 125000 - 7 * 125000 - 1250000);
    for (uint32_t level = 1; level < 8; level++) {
        assert_int_equal(tree.classes[2 + level].prio, level);
        assert_int_equal(tree.classes[2 + level].rate_bytes_s, 125000);
        assert_int_equal(tree.classes[2 + level].limit_packets, 100);
    }
    assert_int_equal(tree.classes[10].prio, 7);
    assert_int_equal(tree.classes[10].rate_bytes_s, 1250000);
}

static void test_one_level_has_the_buffer_of_eight(void **state)
{
    (void)state;
    struct port_plan plan = plan_100mbps();
    plan.levels = 1;
    struct port_tree tree;
    assert_int_equal(want_tree(&plan, &tree, NULL), 0);
    assert_int_equal(tree.classes_n, 4);
    assert_int_equal(tree.classes[2].limit_packets, 800);
    assert_int_equal(want_minor(QUEUE_LEVEL0 + 5, 1), WANT_LEVEL(0));
    assert_int_equal(want_minor(QUEUE_LEVEL0 + 5, 8), WANT_LEVEL(5));
}

/* Property: whatever the plan, rates add up to the link exactly, no ceil is over it, prio fits HTB,
 * and minors are distinct; or the plan is refused with a sentence. */
static void test_rates_add_up_to_the_link(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    int taken = 0;
    for (int round = 0; round < 20000; round++) {
        struct port_plan plan = {.link_bps = 8000 + test_random(&stream) % 400000000000u,
                                 .levels = (uint32_t)(test_random(&stream) % 10),
                                 .leaf_packets = (uint32_t)(test_random(&stream) % 2000),
                                 .floor_permille = (uint32_t)(test_random(&stream) % 100),
                                 .unmanaged_permille = (uint32_t)(test_random(&stream) % 500),
                                 .control_permille = (uint32_t)(test_random(&stream) % 100),
                                 .mtu_bytes = 1500};
        struct port_tree tree;
        struct err err = {0};
        if (want_tree(&plan, &tree, &err) < 0) {
            assert_int_equal(err.code, EINVAL);
            assert_true(strlen(err.text) > 10);
            continue;
        }
        taken++;
        assert_int_equal(leaf_rates(&tree), plan.link_bps / 8);
        for (uint32_t i = 0; i < tree.classes_n; i++) {
            assert_true(tree.classes[i].rate_bytes_s > 0);
            assert_int_equal(tree.classes[i].ceil_bytes_s, plan.link_bps / 8);
            assert_true(tree.classes[i].prio < 8);
            for (uint32_t j = 0; j < i; j++)
                assert_int_not_equal(tree.classes[i].minor, tree.classes[j].minor);
        }
    }
    assert_true(taken > 1000);
}

static void test_nothing_to_do_when_it_is_so_already(void **state)
{
    (void)state;
    struct port_plan plan = plan_100mbps();
    struct port_tree want, have;
    struct port_step steps[WANT_STEPS];
    uint32_t n;
    assert_int_equal(want_tree(&plan, &want, NULL), 0);
    have = want;
    have.classes[3].burst_bytes -=
        have.classes[3].burst_bytes / 100; /* kept as a time by the kernel */
    assert_int_equal(want_steps("eth0", &want, &have, false, steps, &n, NULL), 0);
    assert_int_equal(n, 0);
}

static void test_one_changed_class_is_one_step(void **state)
{
    (void)state;
    struct port_plan plan = plan_100mbps();
    struct port_tree want, have;
    struct port_step steps[WANT_STEPS];
    uint32_t n;
    assert_int_equal(want_tree(&plan, &want, NULL), 0);
    have = want;
    have.classes[4].prio = 7;
    have.classes[6].limit_packets = 10;
    have.classes[have.classes_n - 1] = (struct port_class){.minor = 0x77};
    want.classes_n--; /* the unmanaged class is neither wanted nor there: a stranger is */
    assert_int_equal(want_steps("eth0", &want, &have, false, steps, &n, NULL), 0);
    assert_int_equal(n, 3);
    assert_int_equal(steps[0].kind, STEP_CLASS);
    assert_int_equal(steps[0].class.minor, WANT_LEVEL(2));
    assert_int_equal(steps[1].kind, STEP_LEAF);
    assert_int_equal(steps[1].class.minor, WANT_LEVEL(4));
    assert_int_equal(steps[2].kind, STEP_CLASS_DELETE);
    assert_int_equal(steps[2].class.minor, 0x77);
}

static void test_a_foreign_qdisc_is_refused_or_replaced(void **state)
{
    (void)state;
    struct port_plan plan = plan_100mbps();
    struct port_tree want, have = {.root = PORT_FOREIGN, .kind = "tbf"};
    struct port_step steps[WANT_STEPS];
    struct err err = {0};
    uint32_t n = 77;
    assert_int_equal(want_tree(&plan, &want, NULL), 0);
    assert_int_equal(want_steps("eth0", &want, &have, false, steps, &n, &err), -EBUSY);
    assert_non_null(strstr(err.text, "eth0"));
    assert_non_null(strstr(err.text, "tbf"));
    assert_int_equal(n, 77);
    assert_int_equal(want_steps("eth0", &want, &have, true, steps, &n, &err), 0);
    assert_int_equal(n, 1 + 11 + 10);
    assert_int_equal(steps[0].kind, STEP_ROOT);
    assert_int_equal(steps[1].class.minor, WANT_ROOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_design_s_tree_at_100_mbps),
        cmocka_unit_test(test_one_level_has_the_buffer_of_eight),
        cmocka_unit_test(test_rates_add_up_to_the_link),
        cmocka_unit_test(test_nothing_to_do_when_it_is_so_already),
        cmocka_unit_test(test_one_changed_class_is_one_step),
        cmocka_unit_test(test_a_foreign_qdisc_is_refused_or_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
