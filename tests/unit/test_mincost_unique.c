/* mincost_is_unique against LEMON: an optimum is the only one when no arc can be made to carry one
 * unit more, or one less, at the same cost. mincost_settle against a fresh problem: both come to
 * the same optimum. */
#include "tests/unit/test.h"

#include <stdlib.h>
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

static int64_t second_of(uint32_t arc)
{
    uint64_t stream = arc;
    return (int64_t)(test_random(&stream) >> 34);
}

static uint32_t settle(struct mincost *problem, const struct plain *plain)
{
    uint32_t arcs[256] = {0}, n = 0, changed = 0;
    int64_t seconds[256] = {0}, before[256];
    bool settled = false;
    for (uint32_t a = 1; a <= plain->max_arc; a++)
        if (plain->arcs[a].tail) {
            arcs[n] = a;
            before[n] = mincost_flow(problem, a);
            seconds[n++] = second_of(a);
        }
    assert_int_equal(mincost_settle(problem, arcs, seconds, n, &settled), 0);
    assert_true(settled);
    for (uint32_t i = 0; i < n; i++)
        changed += mincost_flow(problem, arcs[i]) != before[i];
    return changed;
}

/* The list of changed arcs leads from one round's flow to the next one's. */
static void follow(const struct mincost *problem, int64_t *flows, uint32_t max_arc)
{
    size_t n;
    const uint32_t *changed = mincost_changed(problem, &n);
    for (size_t i = 0; i < n; i++)
        flows[changed[i]] = mincost_flow(problem, changed[i]);
    for (uint32_t a = 1; a <= max_arc; a++)
        assert_int_equal(mincost_flow(problem, a), flows[a]);
}

static struct mincost *fresh_of(const struct plain *plain)
{
    struct mincost *problem;
    assert_int_equal(mincost_create(0, 0, &problem), 0);
    for (uint32_t v = 1; v <= plain->max_node; v++)
        if (plain->node_there[v])
            assert_int_equal(mincost_set_node(problem, v, plain->supply[v]), 0);
    for (uint32_t a = plain->max_arc; a > 0; a--) {
        const struct plain_arc *arc = &plain->arcs[a];
        if (arc->tail)
            assert_int_equal(mincost_add_arc(problem, a, arc->tail, arc->head, arc->lower,
                                             arc->capacity, arc->cost),
                             0);
    }
    assert_int_equal(mincost_solve(problem), 0);
    return problem;
}

static void it_settles_as_a_fresh_problem_does(void **state)
{
    (void)state;
    unsigned moved = 0;
    for (unsigned i = 0; i < PROBLEMS; i++) {
        uint64_t stream = test_seed() + i;
        struct random_shape shape = random_shape_draw(&stream);
        struct plain plain = {0};
        struct changes changes = {0};
        struct mincost *problem;
        struct mincost_certificate certificate;
        int64_t flows[256] = {0};
        shape.largest_cost = i % 4 + 1;
        assert_int_equal(mincost_create(0, 0, &problem), 0);
        for (unsigned round = 0; round < ROUNDS; round++) {
            size_t done;
            changes.count = 0;
            random_round(&plain, &shape, &stream, &changes);
            for (size_t k = 0; k < changes.count; k++)
                if (changes.items[k].kind == MINCOST_ARC_GONE)
                    flows[changes.items[k].id] = 0;
            assert_int_equal(mincost_apply(problem, changes.items, changes.count, &done), 0);
            if (mincost_solve(problem))
                continue;
            int64_t cost = mincost_cost(problem);
            moved += settle(problem, &plain) > 0;
            assert_true(mincost_certify(problem, &certificate));
            assert_int_equal(mincost_cost(problem), cost);
            follow(problem, flows, plain.max_arc);
            struct mincost *fresh = fresh_of(&plain);
            settle(fresh, &plain);
            for (uint32_t a = 1; a <= plain.max_arc; a++)
                assert_int_equal(mincost_flow(problem, a), mincost_flow(fresh, a));
            mincost_destroy(fresh);
        }
        mincost_destroy(problem);
        plain_done(&plain);
        free(changes.items);
    }
    fprintf(stderr, "# %u rounds settled on another optimum\n", moved);
    assert_true(moved > 100);
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
        cmocka_unit_test(it_settles_as_a_fresh_problem_does),
        cmocka_unit_test(only_among_the_arcs_that_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
