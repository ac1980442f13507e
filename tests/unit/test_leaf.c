/* The qdisc that holds one queue's packets. Its bytes in the kernel: test_qdisc. */
#include "tests/unit/test.h"

#include "hostagent/queues/leaf.h"

#include <linux/pkt_sched.h>
#include <string.h>

static struct leaf leaf_at(uint64_t link_bps, bool ecn)
{
    struct port_wish wish = port_wish_preset;
    const struct port_facts facts = {.link_bps = link_bps,
                                     .mtu_bytes = 1500,
                                     .queues_n = PORT_TRAFFIC,
                                     .abilities = {.strict = true, .ecn = true}};
    struct port port;
    wish.ecn = ecn;
    assert_int_equal(port_want(&wish, &facts, &port, NULL), 0);
    return leaf_of(&port, &port.queues[4]);
}

static void test_without_ecn_it_is_a_pfifo(void **state)
{
    (void)state;
    struct leaf leaf = leaf_at(1000000000, false);
    assert_int_equal(leaf.limit, 100);
    assert_int_equal(leaf.mark_bytes, 0);
}

static void test_a_red_has_the_packets_or_a_millisecond(void **state)
{
    (void)state;
    struct leaf slow = leaf_at(100000000, true), fast = leaf_at(10000000000, true);
    assert_int_equal(slow.limit, 100 * 1514);
    assert_int_equal(slow.mark_bytes, 15 * 1514);
    assert_int_equal(fast.limit, 1250000);
    assert_int_equal(fast.mark_bytes, 50 * 1514);
}

/* One threshold on what waits now: no average, no probability, no memory of idle times. */
static void test_a_red_marks_by_what_waits_now(void **state)
{
    (void)state;
    struct leaf leaf = leaf_at(1000000000, true);
    struct tc_red_qopt options;
    uint8_t stab[LEAF_STAB];
    leaf_red_options(&leaf, &options, stab);
    assert_int_equal(options.Wlog, 0);
    assert_int_equal(options.qth_max, options.qth_min + 1);
    for (int i = 0; i < LEAF_STAB; i++)
        assert_int_equal(stab[i], 31);
    struct leaf again = leaf_of_red(&options);
    assert_true(leaf_equal(&leaf, &again));
    options.Wlog = 9;
    again = leaf_of_red(&options);
    assert_false(leaf_equal(&leaf, &again));
    options.Wlog = 0;
    options.flags = 0;
    again = leaf_of_red(&options);
    assert_int_equal(again.limit, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_ecn_it_is_a_pfifo),
        cmocka_unit_test(test_a_red_has_the_packets_or_a_millisecond),
        cmocka_unit_test(test_a_red_marks_by_what_waits_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
