/* mincost_is_unique against LEMON: an optimum is the only one when no arc can be made to carry one
 * unit more, or one less, at the same cost. */
#include "tests/unit/test.h"

#include <string.h>

#include "lib/mincost/mincost.h"
#include "tests/mincost/random.h"

enum { PROBLEMS = 300, ROUNDS = 8 };

/* Whether an optimum exists in which the arc carries another amount than it does. */
static bool varies(struct plain *plain, const struct mincost *problem, uint32_t arc)
{
    struct plain_arc *a = &plain->arcs[arc], before = *a;
    int64_t flow = mincost_flow(problem, arc), cost, cpu_ns;
    bool varies = false;
    if (flow < before.capacity) {
        a->lower = flow + 1;
        varies = lemon_solve(plain, LEMON_NETWORK_SIMPLEX, &cost, &cpu_ns) &&
                 cost == mincost_cost(problem);
        *a = before;
    }
    if (!varies && flow > before.lower) {
        a->capacity = flow - 1;
        varies = lemon_solve(plain, LEMON_NETWORK_SIMPLEX, &cost, &cpu_ns) &&
                 cost == mincost_cost(problem);
        *a = before;
    }
    return varies;
}

/* Among all arcs, and among those of every second number. */
static void check_round(struct mincost *problem, struct plain *plain, unsigned seen[2])
{
    uint32_t arcs[256], n = 0;
    bool expected = true, unique = false;
    for (uint32_t a = 1; a <= plain->max_arc; a++)
        if (plain->arcs[a].tail) {
            expected = expected && !varies(plain, problem, a);
            arcs[n++] = a;
        }
    assert_int_equal(mincost_is_unique(problem, arcs, n, &unique), 0);
    assert_int_equal(unique, expected);
    seen[unique]++;
}

static void as_lemon_says(void **state)
{
    (void)state;
    unsigned seen[2] = {0};
    for (unsigned i = 0; i < PROBLEMS; i++) {
        uint64_t stream = test_seed() + i;
        struct random_shape shape = random_shape_draw(&stream);
        struct plain plain = {0};
        struct changes changes = {0};
        struct mincost *problem;
        shape.largest_cost = i % 2 ? shape.largest_cost : 20;
        assert_int_equal(mincost_create(0, 0, &problem), 0);
        for (unsigned round = 0; round < ROUNDS; round++) {
            size_t done;
            changes.count = 0;
            random_round(&plain, &shape, &stream, &changes);
            assert_int_equal(mincost_apply(problem, changes.items, changes.count, &done), 0);
            if (mincost_solve(problem) == 0)
                check_round(problem, &plain, seen);
        }
        mincost_destroy(problem);
        plain_done(&plain);
        free(changes.items);
    }
    assert_true(seen[0] > 100 && seen[1] > 100);
}

/* Two ways of equal cost from 1 to 4, of which one is taken; a third is dearer. */
static void only_among_the_arcs_that_are_listed(void **state)
{
    (void)state;
    struct mincost *problem;
    const uint32_t both[] = {1, 2, 3, 4}, one[] = {1, 2, 5};
    bool unique = true;
    assert_int_equal(mincost_create(4, 5, &problem), 0);
    for (uint32_t node = 1; node <= 4; node++)
        assert_int_equal(mincost_set_node(problem, node, node == 1 ? 1 : node == 4 ? -1 : 0), 0);
    assert_int_equal(mincost_add_arc(problem, 1, 1, 2, 0, 1, 3), 0);
    assert_int_equal(mincost_add_arc(problem, 2, 2, 4, 0, 1, 4), 0);
    assert_int_equal(mincost_add_arc(problem, 3, 1, 3, 0, 1, 4), 0);
    assert_int_equal(mincost_add_arc(problem, 4, 3, 4, 0, 1, 3), 0);
    assert_int_equal(mincost_add_arc(problem, 5, 1, 4, 0, 1, 8), 0);
    assert_int_equal(mincost_solve(problem), 0);
    assert_int_equal(mincost_is_unique(problem, both, 4, &unique), 0);
    assert_false(unique);
    assert_int_equal(mincost_is_unique(problem, one, 3, &unique), 0);
    assert_true(unique);
    mincost_destroy(problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_lemon_says),
        cmocka_unit_test(only_among_the_arcs_that_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
