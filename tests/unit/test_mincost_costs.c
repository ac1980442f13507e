/* Costs on both sides of the limit up to which halves hold them: the same changes give the same
 * flow, whether costs stand in the halves, in the table, or move between the two. */
#include "tests/unit/test.h"

#include <inttypes.h>
#include <string.h>

#include "lib/mincost/graph.h"
#include "tests/mincost/random.h"

enum { PROBLEMS = 60, ROUNDS = 40 };

/* Nodes and an arc beside the problem, whose cost decides where all costs stand. */
enum { BESIDE_TAIL = 200, BESIDE_HEAD = 201, BESIDE_ARC = 900 };

static struct mincost *create(const char *algorithm, int64_t cost)
{
    struct mincost *m;
    assert_int_equal(mincost_create(0, 0, &m), 0);
    assert_int_equal(mincost_set_algorithm(m, algorithm), 0);
    assert_int_equal(mincost_set_node(m, BESIDE_TAIL, 0), 0);
    assert_int_equal(mincost_set_node(m, BESIDE_HEAD, 0), 0);
    assert_int_equal(mincost_add_arc(m, BESIDE_ARC, BESIDE_TAIL, BESIDE_HEAD, 0, 3, cost), 0);
    return m;
}

static void check_same(const struct mincost *near, const struct mincost *other, uint64_t seed,
                       int round)
{
    struct mincost_certificate c;
    if (mincost_cost(near) != mincost_cost(other) || !mincost_certify(other, &c))
        fail_msg("seed %" PRIu64 ", round %d: cost %" PRId64 " and %" PRId64, seed, round,
                 mincost_cost(near), mincost_cost(other));
    for (uint32_t a = 1; a <= mincost_max_arc(near); a++)
        if (mincost_flow(near, a) != mincost_flow(other, a))
            fail_msg("seed %" PRIu64 ", round %d: arc %" PRIu32 " carries another flow", seed,
                     round, a);
}

static void live(const char *algorithm, uint64_t seed)
{
    const int64_t small = 7, large = INT64_C(1) << COST_NEAR_BITS;
    uint64_t stream = seed;
    struct random_shape shape = random_shape_draw(&stream);
    struct plain plain = {0};
    struct changes changes = {0};
    struct mincost *near = create(algorithm, small), *wide = create(algorithm, large);
    struct mincost *crossing = create(algorithm, small);
    shape.largest_cost = 1000;
    for (int round = 0; round < ROUNDS; round++) {
        changes.count = 0;
        random_round(&plain, &shape, &stream, &changes);
        for (size_t i = 0; i < changes.count; i++) {
            if (round % 3 && i == changes.count / 2)
                assert_int_equal(mincost_modify_arc(crossing, BESIDE_ARC, 0, 3,
                                                    round % 3 == 1 ? large : 1 - large),
                                 0);
            assert_int_equal(mincost_apply(near, &changes.items[i], 1, NULL), 0);
            assert_int_equal(mincost_apply(wide, &changes.items[i], 1, NULL), 0);
            assert_int_equal(mincost_apply(crossing, &changes.items[i], 1, NULL), 0);
        }
        int r = mincost_solve(near);
        assert_int_equal(mincost_solve(wide), r);
        assert_int_equal(mincost_solve(crossing), r);
        assert_false(near->wide);
        assert_true(wide->wide);
        assert_int_equal(crossing->wide, crossing->costs_at[COST_NEAR_BITS + 1] > 0);
        if (!r) {
            check_same(near, wide, seed, round);
            check_same(near, crossing, seed, round);
        }
    }
    mincost_destroy(near);
    mincost_destroy(wide);
    mincost_destroy(crossing);
    plain_done(&plain);
    free(changes.items);
}

static void near_and_wide_costs_give_one_flow(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < PROBLEMS; i++) {
        live("incremental", test_seed() + i);
        live("paths", test_seed() + i);
    }
}

/* The limit itself, and the largest cost there may be. */
static void the_limit_is_exact(void **state)
{
    (void)state;
    const int64_t limit = INT64_C(1) << COST_NEAR_BITS;
    struct mincost *m = create("auto", limit - 1);
    assert_false(m->wide);
    assert_int_equal(mincost_modify_arc(m, BESIDE_ARC, 0, 3, -limit), 0);
    assert_true(m->wide);
    assert_int_equal(mincost_set_node(m, BESIDE_TAIL, 3), 0);
    assert_int_equal(mincost_set_node(m, BESIDE_HEAD, -3), 0);
    assert_int_equal(mincost_solve(m), 0);
    assert_int_equal(mincost_cost(m), -3 * limit);
    assert_int_equal(mincost_modify_arc(m, BESIDE_ARC, 0, 3, MINCOST_COST_MAX), 0);
    assert_int_equal(mincost_add_arc(m, 3000, BESIDE_TAIL, BESIDE_HEAD, 0, 1, limit), 0);
    assert_int_equal(mincost_solve(m), 0);
    assert_int_equal(mincost_cost(m), 2 * MINCOST_COST_MAX + limit);
    assert_int_equal(mincost_modify_arc(m, 3000, 0, 1, 5), 0);
    assert_int_equal(mincost_modify_arc(m, BESIDE_ARC, 0, 3, 1 - limit), 0);
    assert_int_equal(mincost_solve(m), 0);
    assert_false(m->wide);
    assert_int_equal(mincost_cost(m), -3 * (limit - 1));
    mincost_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_and_wide_costs_give_one_flow),
        cmocka_unit_test(the_limit_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
