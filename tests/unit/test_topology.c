#include "tests/unit/test.h"

#include "testbed/sim/cluster/own_links.h"
#include "testbed/sim/network/topology.h"

#include <errno.h>
#include <string.h>

/* ECMP: a flow keeps its spine, and flows that are numbered in order fall on all of them alike. */
static void test_flows_spread_over_spines(void **state)
{
    (void)state;
    enum { SPINES = 8, FLOWS = 8000, FIRST = 2 * 8 + 0 * SPINES };
    struct topology t;
    unsigned flows[SPINES] = {0}, runs = 0;
    uint32_t before = UINT32_MAX;
    assert_int_equal(topology_init_leaf_spine(&t, 2, 4, 100, SPINES, 4, false, NULL), 0);
    for (uint64_t flow = 0; flow < FLOWS; flow++) {
        struct topology_path path = topology_path(&t, 0, 4, flow),
                             again = topology_path(&t, 0, 4, flow);
        assert_int_equal(path.n, 4);
        assert_memory_equal(path.links, again.links, sizeof(path.links));
        uint32_t spine = path.links[1] - FIRST;
        assert_true(spine < SPINES);
        flows[spine]++;
        runs += spine == before;
        before = spine;
    }
    for (int s = 0; s < SPINES; s++)
        assert_in_range(flows[s], FLOWS / SPINES * 8 / 10, FLOWS / SPINES * 12 / 10);
    /* Not in turn either: one in eight follows its like. */
    assert_in_range(runs, FLOWS / SPINES * 8 / 10, FLOWS / SPINES * 12 / 10);
    assert_true(topology_link_bytes_s(&t, FIRST) * SPINES * 4 == 400);
}

static void test_spreading_ideally_is_one_link(void **state)
{
    (void)state;
    struct topology t;
    assert_int_equal(topology_init_leaf_spine(&t, 2, 4, 100, 8, 4, true, NULL), 0);
    assert_int_equal(t.n_links, 2 * 8 + 2 * 2);
    assert_int_equal(topology_path(&t, 0, 4, 1).links[1], topology_path(&t, 3, 5, 2).links[1]);
    assert_true(topology_link_bytes_s(&t, 16) == 100);
}

static void test_links_are_named(void **state)
{
    (void)state;
    struct topology t;
    struct err err = {0};
    assert_int_equal(topology_init_leaf_spine(&t, 2, 4, 100, 8, 4, false, NULL), 0);
    assert_int_equal(
        own_links_read(&t, "h7=8kbps,h7.up=16kbps,r1.s3=24kbps,r1.s3.down=32kbps", &err), 0);
    assert_true(topology_link_bytes_s(&t, 7) == 2000);
    assert_true(topology_link_bytes_s(&t, 8 + 7) == 1000);
    assert_true(topology_link_bytes_s(&t, 6) == 100);
    uint32_t there = topology_path(&t, 4, 0, 0).links[1], spine = (there - 16) % 8;
    assert_int_equal(topology_core_link(&t, 1, spine, true), there);
    assert_true(topology_link_bytes_s(&t, topology_core_link(&t, 1, 3, true)) == 3000);
    assert_true(topology_link_bytes_s(&t, topology_core_link(&t, 1, 3, false)) == 4000);
    assert_true(topology_link_bytes_s(&t, topology_core_link(&t, 1, 2, true)) == 12.5);
    topology_done(&t);
}

static void test_what_names_no_link_gets_a_sentence(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"h8=1Gbps", "no 'h8'"},         {"h3.left=1Gbps", "no 'h3.left'"},
        {"r2.s0=1Gbps", "no 'r2.s0'"},   {"r0.s1=1Gbps", "no 'r0.s1'"},
        {"r0=1Gbps", "no 'r0'"},         {"h3", "'h3' is not NAME=RATE"},
        {"h3=fast", "'fast'"},           {"h-1=1Gbps", "no 'h-1'"},
        {"", "'' is not NAME=RATE"},     {"h1=1Gbps,", "'' is not NAME=RATE"},
        {"h3.up.up=1Gbps", "'h3.up.up'"}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct topology t;
        struct err err = {0};
        assert_int_equal(topology_init_leaf_spine(&t, 2, 4, 100, 8, 4, true, NULL), 0);
        assert_int_equal(own_links_read(&t, wrong[i][0], &err), -EINVAL);
        if (!strstr(err.text, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], err.text);
        topology_done(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flows_spread_over_spines),
        cmocka_unit_test(test_spreading_ideally_is_one_link),
        cmocka_unit_test(test_links_are_named),
        cmocka_unit_test(test_what_names_no_link_gets_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
