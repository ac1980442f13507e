/* A wanted port in HTB's terms. */
#include "tests/unit/test.h"

#include "hostagent/queues/htb.h"

static const struct port_facts ethernet = {
    .mtu_bytes = 1500, .queues_n = PORT_TRAFFIC, .abilities = {.strict = true, .floors = true}};

static struct port_wish wish_100mbps(void)
{
    struct port_wish wish = port_wish_preset;
    wish.link_bps = 100000000;
    return wish;
}

static struct port port_of(const struct port_wish *wish)
{
    struct port port;
    assert_int_equal(port_want(wish, &ethernet, &port, NULL), 0);
    return port;
}

static struct htb_tree tree_of(const struct port_wish *wish)
{
    struct port port = port_of(wish);
    struct htb_tree tree;
    htb_tree_of(&port, &tree);
    return tree;
}

static uint64_t leaf_rates(const struct htb_tree *tree)
{
    uint64_t sum = 0;
    for (uint32_t i = 1; i < tree->classes_n; i++)
        sum += tree->classes[i].rate_bytes_s;
    return sum;
}

static void test_one_level_is_one_class(void **state)
{
    (void)state;
    struct port_wish wish = wish_100mbps();
    wish.levels = 1;
    struct port port = port_of(&wish);
    assert_int_equal(port.queues[port.queue_of[TRAFFIC_LEVEL0 + 5]].first, TRAFFIC_LEVEL0);
    assert_int_equal(tree_of(&wish).classes[2].leaf.limit, 800);
}

static void test_the_design_s_tree_at_100_mbps(void **state)
{
    (void)state;
    struct port_wish wish = wish_100mbps();
    struct htb_tree tree = tree_of(&wish);
    assert_int_equal(tree.classes_n, 11);
    assert_int_equal(tree.default_minor, QDISC_MINOR(TRAFFIC_UNMANAGED));
    assert_int_equal(tree.classes[1].minor, QDISC_MINOR(TRAFFIC_CONTROL));
    assert_int_equal(tree.classes[1].rate_bytes_s, 125000);
    assert_int_equal(tree.classes[2].minor, QDISC_MINOR(TRAFFIC_LEVEL0 + 0));
    assert_int_equal(tree.classes[2].rate_bytes_s, 12500000 - 125000 - 7 * 125000 - 1250000);
    for (uint32_t level = 1; level < 8; level++) {
        assert_int_equal(tree.classes[2 + level].prio, level);
        assert_int_equal(tree.classes[2 + level].rate_bytes_s, 125000);
        assert_int_equal(tree.classes[2 + level].leaf.limit, 100);
    }
    assert_int_equal(tree.classes[10].prio, 7);
    assert_int_equal(tree.classes[10].rate_bytes_s, 1250000);
}

/* Property: whatever the wish, rates add up to the link exactly, no ceil is over it, prio fits, and
 * minors are distinct. */
static void test_rates_add_up_to_the_link(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    int taken = 0;
    for (int round = 0; round < 20000; round++) {
        struct port_wish wish = wish_100mbps();
        wish.link_bps = 8000 + test_random(&stream) % 400000000000u;
        wish.levels = (uint32_t)(test_random(&stream) % 10);
        wish.queue_packets = (uint32_t)(test_random(&stream) % 2000);
        wish.floor_permille = (uint32_t)(test_random(&stream) % 100);
        wish.unmanaged_permille = (uint32_t)(test_random(&stream) % 500);
        wish.control_permille = (uint32_t)(test_random(&stream) % 100);
        struct port port;
        if (round % 2)
            wish.link_bps = wish.link_bps % 1000000;
        if (port_want(&wish, &ethernet, &port, NULL) < 0)
            continue;
        taken++;
        struct htb_tree tree = tree_of(&wish);
        assert_int_equal(leaf_rates(&tree), wish.link_bps / 8);
        for (uint32_t i = 0; i < tree.classes_n; i++) {
            assert_in_range(tree.classes[i].rate_bytes_s, 1, wish.link_bps / 8);
            assert_int_equal(tree.classes[i].ceil_bytes_s, wish.link_bps / 8);
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
    struct port_wish wish = wish_100mbps();
    struct htb_tree want = tree_of(&wish), have = want;
    struct htb_step steps[HTB_STEPS];
    have.classes[3].burst_bytes -=
        have.classes[3].burst_bytes / 100; /* kept as a time by the kernel */
    assert_int_equal(htb_steps(&want, &have, steps), 0);
}

static void test_one_changed_class_is_one_step(void **state)
{
    (void)state;
    struct port_wish wish = wish_100mbps();
    struct htb_tree want = tree_of(&wish), have = want;
    struct htb_step steps[HTB_STEPS];
    have.classes[4].prio = 7;
    have.classes[6].leaf.limit = 10;
    have.classes[have.classes_n - 1] = (struct htb_class){.minor = 0x77};
    want.classes_n--; /* the unmanaged class is neither wanted nor there: a stranger is */
    assert_int_equal(htb_steps(&want, &have, steps), 3);
    assert_int_equal(steps[0].kind, HTB_STEP_CLASS);
    assert_int_equal(steps[0].class.minor, QDISC_MINOR(TRAFFIC_LEVEL0 + 2));
    assert_int_equal(steps[1].kind, HTB_STEP_LEAF);
    assert_int_equal(steps[1].class.minor, QDISC_MINOR(TRAFFIC_LEVEL0 + 4));
    assert_int_equal(steps[2].kind, HTB_STEP_CLASS_DELETE);
    assert_int_equal(steps[2].class.minor, 0x77);
}

static void test_a_port_without_ours_gets_all_of_it(void **state)
{
    (void)state;
    struct port_wish wish = wish_100mbps();
    struct htb_tree want = tree_of(&wish);
    struct htb_step steps[HTB_STEPS];
    assert_int_equal(htb_steps(&want, NULL, steps), 1 + 11 + 10);
    assert_int_equal(steps[0].kind, HTB_STEP_ROOT);
    assert_int_equal(steps[1].class.minor, HTB_ROOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_level_is_one_class),
        cmocka_unit_test(test_the_design_s_tree_at_100_mbps),
        cmocka_unit_test(test_rates_add_up_to_the_link),
        cmocka_unit_test(test_nothing_to_do_when_it_is_so_already),
        cmocka_unit_test(test_one_changed_class_is_one_step),
        cmocka_unit_test(test_a_port_without_ours_gets_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
