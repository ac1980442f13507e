/* The life of small clusters, large enough that hubs are made, against LEMON: slack, full and
 * over-full. */
#include "tests/unit/test.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/mincost/mincost.h"
#include "tests/mincost/quincy.h"
#include "tests/unit/draws.h"

enum { ROUNDS = DRAWS(30, 8) };

static void check_round(struct mincost *problem, struct quincy *q, const char *algorithm)
{
    struct mincost_certificate c;
    int64_t expected = 0, cpu_ns;
    const struct changes *changes = quincy_changes(q);
    assert_int_equal(mincost_apply(problem, changes->items, changes->count, NULL), 0);
    assert_int_equal(mincost_solve(problem), 0);
    assert_true(lemon_solve(quincy_plain(q), LEMON_NETWORK_SIMPLEX, &expected, &cpu_ns));
    if (mincost_cost(problem) != expected || !mincost_certify(problem, &c))
        fail_msg("%s: cost %" PRId64 ", LEMON %" PRId64 ", or no certificate", algorithm,
                 mincost_cost(problem), expected);
    quincy_observe(q, problem);
}

static void live(const char *algorithm, uint32_t machines, uint32_t tasks)
{
    struct quincy_shape shape = {machines, tasks, 40, 12, 300, test_seed(), 50};
    struct quincy *q = quincy_create(&shape);
    struct mincost *problem;
    assert_int_equal(mincost_create(0, 0, &problem), 0);
    assert_int_equal(mincost_set_algorithm(problem, algorithm), 0);
    quincy_first_round(q);
    for (int round = 0; round < ROUNDS; round++) {
        check_round(problem, q, algorithm);
        if (round % 5 == 4)
            quincy_age_round(q);
        else if (round % 5 == 3)
            quincy_event_round(q);
        else
            quincy_churn_round(q, round % 2 ? 10 : 50);
    }
    mincost_destroy(problem);
    quincy_destroy(q);
}

static void clusters_cost_what_lemon_says(void **state)
{
    (void)state;
    for (size_t i = 0; mincost_algorithms[i]; i++) {
        live(mincost_algorithms[i]->name, 120, 300);
        live(mincost_algorithms[i]->name, 80, 960);
        live(mincost_algorithms[i]->name, 80, 1200);
    }
}

/* What a caller of the library sees of one small problem. */
static void an_infeasible_round_keeps_the_last_optimum(void **state)
{
    (void)state;
    struct mincost *m;
    assert_int_equal(mincost_create(4, 4, &m), 0);
    for (uint32_t v = 1; v <= 3; v++)
        assert_int_equal(mincost_set_node(m, v, v == 1 ? 2 : v == 3 ? -2 : 0), 0);
    assert_int_equal(mincost_add_arc(m, 1, 1, 2, 0, 2, 5), 0);
    assert_int_equal(mincost_add_arc(m, 2, 2, 3, 0, 2, -1), 0);
    assert_int_equal(mincost_add_arc(m, 2, 2, 3, 0, 2, 1), -EEXIST);
    assert_int_equal(mincost_add_arc(m, 3, 2, 2, 0, 2, 1), -EINVAL);
    assert_int_equal(mincost_add_arc(m, 3, 2, 9, 0, 2, 1), -ENOENT);
    assert_int_equal(mincost_add_arc(m, 3, 2, 3, 0, 2, MINCOST_COST_MAX + 1), -ERANGE);
    assert_int_equal(mincost_remove_node(m, 2), -EBUSY);
    assert_int_equal(mincost_solve(m), 0);
    assert_int_equal(mincost_cost(m), 8);
    assert_int_equal(mincost_modify_arc(m, 2, 0, 1, -1), 0);
    assert_int_equal(mincost_solve(m), -EDOM);
    assert_non_null(strstr(mincost_reason(m), "arc 2 (2 -> 3)"));
    assert_int_equal(mincost_flow(m, 2), 2);
    assert_int_equal(mincost_cost(m), 8);
    assert_int_equal(mincost_modify_arc(m, 2, 2, 2, -7), 0);
    assert_int_equal(mincost_solve(m), 0);
    assert_int_equal(mincost_cost(m), -4);
    mincost_destroy(m);
    mincost_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_cost_what_lemon_says),
        cmocka_unit_test(an_infeasible_round_keeps_the_last_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
