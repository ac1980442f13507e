#include "tests/unit/test.h"

#include "testbed/sim/network/topology.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flows_spread_over_spines),
        cmocka_unit_test(test_spreading_ideally_is_one_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
