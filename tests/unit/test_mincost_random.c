/* Every algorithm of the library against LEMON on random change sequences: the same rounds are
 * feasible, cost the same, and every optimum is certified. ROUNDS in all; fewer where a sanitizer
 * makes each slow. */
#include "tests/unit/test.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/mincost/mincost.h"
#include "tests/mincost/random.h"
#include "tests/unit/draws.h"

enum { ROUNDS = DRAWS(120000, 12000) };
enum { ROUNDS_PER_PROBLEM = 60 };

struct run {
    struct mincost *problem;
    struct plain plain;
    struct changes changes;
    uint64_t seed;
    unsigned round;
    unsigned feasible, infeasible;
};

static void check_answer(struct run *run, int r)
{
    int64_t expected = 0, cpu_ns;
    bool feasible = lemon_solve(&run->plain, LEMON_NETWORK_SIMPLEX, &expected, &cpu_ns);
    struct mincost_certificate c = {0};
    if (r == (feasible ? 0 : -EDOM) && (!feasible || (mincost_cost(run->problem) == expected &&
                                                      mincost_certify(run->problem, &c)))) {
        run->feasible += feasible;
        run->infeasible += !feasible;
        return;
    }
    fail_msg("problem seed %" PRIu64 ", round %u: answer %d, cost %" PRId64 "; LEMON: %s, %" PRId64
             "; certificate: bounds %d balance %d optimal %d duality %d arc %" PRIu32
             " node %" PRIu32 "; %s",
             run->seed, run->round, r, mincost_cost(run->problem),
             feasible ? "feasible" : "infeasible", expected, c.bounds, c.balance, c.optimal,
             c.duality, c.arc, c.node, mincost_reason(run->problem));
}

/* What is said to have changed is what changed. */
static void check_changed(struct run *run, int32_t *flows, size_t room)
{
    size_t count;
    const uint32_t *changed = mincost_changed(run->problem, &count);
    for (size_t i = 0; i < count; i++)
        flows[changed[i]] = (int32_t)mincost_flow(run->problem, changed[i]);
    for (uint32_t a = 1; a < room; a++)
        if (flows[a] != mincost_flow(run->problem, a))
            fail_msg("problem seed %" PRIu64 ", round %u: arc %" PRIu32 " changed unsaid",
                     run->seed, run->round, a);
}

static void apply_round(struct run *run, int32_t *flows)
{
    size_t done;
    assert_int_equal(mincost_apply(run->problem, run->changes.items, run->changes.count, &done), 0);
    assert_int_equal(done, run->changes.count);
    for (size_t i = 0; i < done; i++)
        if (run->changes.items[i].kind == MINCOST_ARC_GONE)
            flows[run->changes.items[i].id] = 0;
}

static void run_problem(struct run *run, const char *algorithm, uint64_t seed)
{
    uint64_t stream = run->seed = seed;
    struct random_shape shape = random_shape_draw(&stream);
    int32_t flows[256] = {0};
    run->plain = (struct plain){0};
    assert_int_equal(mincost_create(0, 0, &run->problem), 0);
    assert_int_equal(mincost_set_algorithm(run->problem, algorithm), 0);
    for (run->round = 0; run->round < ROUNDS_PER_PROBLEM; run->round++) {
        run->changes.count = 0;
        random_round(&run->plain, &shape, &stream, &run->changes);
        apply_round(run, flows);
        int r = mincost_solve(run->problem);
        check_answer(run, r);
        if (!r)
            check_changed(run, flows, 256);
        else
            assert_string_not_equal(mincost_reason(run->problem), "");
    }
    mincost_destroy(run->problem);
    plain_done(&run->plain);
}

static void run_algorithm(const char *name, unsigned rounds, uint64_t seed)
{
    struct run run = {0};
    for (unsigned problem = 0; problem < rounds / ROUNDS_PER_PROBLEM; problem++)
        run_problem(&run, name, seed + problem);
    fprintf(stderr, "# %s: %u feasible, %u infeasible rounds\n", name, run.feasible,
            run.infeasible);
    assert_true(run.feasible > rounds / 10);
    assert_true(run.infeasible > rounds / 100);
    free(run.changes.items);
}

static void every_algorithm_agrees_with_lemon(void **state)
{
    (void)state;
    for (size_t i = 0; mincost_algorithms[i]; i++)
        run_algorithm(mincost_algorithms[i]->name, ROUNDS, test_seed());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_agrees_with_lemon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
