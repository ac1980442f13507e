/* What the library promises beside right costs: no allocation after warm-up, the same
 * flow whatever the compiler, a budget that falls back to scratch, costs beyond 32 bits, and a
 * stack that does not grow with the problem. */
#include "tests/unit/test.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "lib/mincost/mincost.h"
#include "tests/mincost/quincy.h"

/* The Makefile has the linker send all allocations of this program's objects here. */
static uint64_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

struct life {
    struct quincy *q;
    struct mincost *problem;
};

static void life_init(struct life *life, const char *algorithm, uint32_t machines, uint32_t tasks)
{
    struct quincy_shape shape = {machines, tasks, 40, 12, 100, 7, 50};
    life->q = quincy_create(&shape);
    assert_int_equal(mincost_create(4096, 65536, &life->problem), 0);
    assert_int_equal(mincost_set_algorithm(life->problem, algorithm), 0);
    quincy_first_round(life->q);
}

static void life_done(struct life *life)
{
    mincost_destroy(life->problem);
    quincy_destroy(life->q);
}

static void apply(struct life *life)
{
    const struct changes *changes = quincy_changes(life->q);
    assert_int_equal(mincost_apply(life->problem, changes->items, changes->count, NULL), 0);
}

static void check_cost(struct life *life, const char *what)
{
    struct mincost_certificate c;
    int64_t expected = 0, cpu_ns;
    assert_true(lemon_solve(quincy_plain(life->q), LEMON_NETWORK_SIMPLEX, &expected, &cpu_ns));
    if (mincost_cost(life->problem) != expected || !mincost_certify(life->problem, &c))
        fail_msg("%s: cost %" PRId64 ", LEMON %" PRId64 ", or no certificate", what,
                 mincost_cost(life->problem), expected);
}

static void solving_allocates_nothing_after_warm_up(void **state)
{
    enum { WARM = 30, COUNTED = 20 };
    static const char *const from_scratch[] = {"scaling", "incremental-scaling", "relax"};
    (void)state;
    for (size_t i = 0; i < sizeof from_scratch / sizeof *from_scratch; i++) {
        struct life life;
        uint64_t in_rounds = 0, warming = allocations;
        life_init(&life, from_scratch[i], 80, 900);
        for (int round = 0; round < WARM + COUNTED; round++) {
            apply(&life);
            uint64_t before = allocations;
            assert_int_equal(mincost_solve(life.problem), 0);
            if (round >= WARM)
                in_rounds += allocations - before;
            quincy_observe(life.q, life.problem);
            quincy_churn_round(life.q, 20);
        }
        assert_true(allocations > warming); /* they are counted at all */
        life_done(&life);
        if (in_rounds)
            fail_msg("%s: %" PRIu64 " allocations after warm-up", from_scratch[i], in_rounds);
    }
}

static uint64_t hash_flows(uint64_t hash, const struct mincost *problem)
{
    for (uint32_t arc = 1; arc <= mincost_max_arc(problem); arc++)
        hash = (hash ^ (uint64_t)mincost_flow(problem, arc)) * UINT64_C(0x100000001b3) + arc;
    return hash;
}

static void apply_one_by_one(struct life *life)
{
    const struct changes *changes = quincy_changes(life->q);
    for (size_t i = 0; i < changes->count; i++)
        assert_int_equal(mincost_apply(life->problem, &changes->items[i], 1, NULL), 0);
}

static uint64_t hash_life(const char *algorithm, void (*apply_changes)(struct life *))
{
    struct life life;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    life_init(&life, algorithm, 40, 500);
    for (int round = 0; round < 10; round++) {
        apply_changes(&life);
        assert_int_equal(mincost_solve(life.problem), 0);
        hash = hash_flows(hash, life.problem);
        quincy_observe(life.q, life.problem);
        if (round % 3 == 2)
            quincy_age_round(life.q);
        else
            quincy_churn_round(life.q, 30);
    }
    life_done(&life);
    return hash;
}

/* Known flows: one value for all compilers and settings. A change of an algorithm that chooses
 * among equal optima differently changes its line; the test prints the new one. */
static void flows_are_the_same_with_every_compiler(void **state)
{
    static const struct {
        const char *algorithm;
        uint64_t hash;
    } known[] = {
        {"auto", UINT64_C(0x027654f4669c864f)},
        {"incremental", UINT64_C(0x31c5cee99f2eb4b5)},
        {"paths", UINT64_C(0xea6ecd37600946ba)},
        {"scaling", UINT64_C(0x027654f4669c864f)},
        {"incremental-scaling", UINT64_C(0x027654f4669c864f)},
        {"relax", UINT64_C(0x31c5cee99f2eb4b5)},
    };
    bool same = true;
    (void)state;
    for (size_t i = 0; mincost_algorithms[i]; i++) {
        const char *name = mincost_algorithms[i]->name;
        uint64_t hash = hash_life(name, apply);
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found |= strcmp(known[k].algorithm, name) == 0 && known[k].hash == hash;
        if (!found)
            fprintf(stderr, "# {\"%s\", UINT64_C(0x%016" PRIx64 ")},\n", name, hash);
        same &= found;
    }
    assert_true(same);
}

static void changes_together_are_changes_one_by_one(void **state)
{
    (void)state;
    assert_int_equal(hash_life("auto", apply), hash_life("auto", apply_one_by_one));
}

static void changes_stop_at_the_first_that_is_refused(void **state)
{
    static const struct mincost_change changes[] = {
        {MINCOST_NODE, 1, 0, 0, 0, 0, 1},         {MINCOST_NODE, 2, 0, 0, 0, 0, -1},
        {MINCOST_ARC, 1, 1, 2, 0, 1, 5},          {MINCOST_ARC_GONE, UINT32_MAX, 0, 0, 0, 0, 0},
        {MINCOST_ARC_MODIFIED, 1, 0, 0, 0, 1, 7},
    };
    struct mincost *problem;
    size_t done;
    (void)state;
    assert_int_equal(mincost_create(0, 0, &problem), 0);
    assert_int_equal(mincost_apply(problem, changes, 5, &done), -ENOENT);
    assert_int_equal(done, 3);
    assert_int_equal(mincost_solve(problem), 0);
    assert_int_equal(mincost_cost(problem), 5);
    assert_int_equal(mincost_apply(problem, changes + 4, 1, NULL), 0);
    assert_int_equal(mincost_apply(problem, NULL, 0, &done), 0);
    assert_int_equal(done, 0);
    assert_int_equal(mincost_solve(problem), 0);
    assert_int_equal(mincost_cost(problem), 7);
    mincost_destroy(problem);
}

/* New costs for a third of all arcs of an over-full cluster: too much to repair. */
static void too_large_a_change_falls_back_to_scratch(void **state)
{
    struct life life;
    struct mincost_stats stats;
    uint64_t stream = test_seed(), fallbacks = 0;
    (void)state;
    life_init(&life, "auto", 80, 1200);
    apply(&life);
    assert_int_equal(mincost_solve(life.problem), 0);
    struct plain *plain = (struct plain *)quincy_plain(life.q);
    for (int round = 0; round < 5; round++) {
        for (uint32_t a = 1; a <= plain->max_arc; a += 3) {
            stream = stream * UINT64_C(6364136223846793005) + 1442695040888963407;
            const struct plain_arc *arc = &plain->arcs[a];
            struct mincost_change change = {.kind = MINCOST_ARC_MODIFIED,
                                            .id = a,
                                            .lower = arc->lower,
                                            .capacity = arc->capacity,
                                            .cost = (int64_t)(stream >> 33) % 2000};
            plain_apply(plain, &change);
            assert_int_equal(mincost_apply(life.problem, &change, 1, NULL), 0);
        }
        assert_int_equal(mincost_solve(life.problem), 0);
        mincost_get_stats(life.problem, &stats);
        if (stats.fallbacks)
            assert_string_equal(stats.algorithm, "scaling");
        fallbacks += stats.fallbacks;
        check_cost(&life, "after a bulk change");
    }
    assert_true(fallbacks > 0);
    life_done(&life);
}

/* Slots that sources of 20 units each want, and all may wait: as a placement groups tasks. */
enum { SLOTS = 60, UNITS = 20, WANTED = 20, SINK = 1, WAITS = 2, FIRST_SLOT = 3 };
enum { FIRST_SOURCE = FIRST_SLOT + SLOTS };

static void add_arc(struct mincost *m, uint32_t *arc, uint32_t tail, uint32_t head, int64_t cost)
{
    int64_t capacity = tail >= FIRST_SLOT && tail < FIRST_SOURCE ? 1 : UNITS * 1000;
    assert_int_equal(mincost_add_arc(m, ++*arc, tail, head, 0, capacity, cost), 0);
}

static void add_sources(struct mincost *m, uint32_t *sources, uint32_t more, uint32_t *arc,
                        uint64_t *stream)
{
    for (uint32_t end = *sources + more; *sources < end; ++*sources) {
        uint32_t node = FIRST_SOURCE + *sources;
        assert_int_equal(mincost_set_node(m, node, UNITS), 0);
        add_arc(m, arc, node, WAITS, 1000 - (int64_t)*sources);
        for (uint32_t i = 0; i < WANTED; i++)
            add_arc(m, arc, node, FIRST_SLOT + (uint32_t)(test_random(stream) % SLOTS),
                    (int64_t)(test_random(stream) % 100));
    }
    assert_int_equal(mincost_set_node(m, SINK, -(int64_t)*sources * UNITS), 0);
}

/* Far more comes than was there, and waits at less than what is there: it is solved from the
 * last optimum. A first problem of such sources is one of shortest paths. */
static void a_burst_that_waits_is_not_solved_from_nothing(void **state)
{
    struct mincost *m;
    struct mincost_stats stats;
    struct mincost_certificate c;
    uint64_t stream = test_seed();
    uint32_t arc = 0, sources = 0;
    (void)state;
    assert_int_equal(mincost_create(0, 0, &m), 0);
    for (uint32_t node = SINK; node < FIRST_SOURCE; node++)
        assert_int_equal(mincost_set_node(m, node, 0), 0);
    add_arc(m, &arc, WAITS, SINK, 1000);
    for (uint32_t slot = FIRST_SLOT; slot < FIRST_SOURCE; slot++)
        add_arc(m, &arc, slot, SINK, 0);
    for (uint32_t more = 6; more <= 600; more *= 10) {
        add_sources(m, &sources, more, &arc, &stream);
        assert_int_equal(mincost_solve(m), 0);
        assert_true(mincost_certify(m, &c));
        mincost_get_stats(m, &stats);
        assert_string_equal(stats.algorithm, sources == more ? "paths" : "incremental");
        assert_int_equal(stats.fallbacks, 0);
    }
    mincost_destroy(m);
}

/* Half of what came to a hundred slots has gone, and what is left of each has another cost: that is
 * seen there, and not by all slots that the hub leads to. */
static void what_has_gone_is_not_priced_over_the_hub(void **state)
{
    enum { HUB = 2, FIRST = 3, PLACES = 2000, USED = 100, USERS = FIRST + PLACES };
    struct mincost *m;
    struct mincost_stats stats;
    struct mincost_certificate c;
    uint64_t stream = test_seed();
    (void)state;
    assert_int_equal(mincost_create(0, 0, &m), 0);
    for (uint32_t node = SINK; node < USERS + USED; node++)
        assert_int_equal(mincost_set_node(m, node, node < USERS ? 0 : 2), 0);
    for (uint32_t i = 0; i < PLACES; i++) {
        assert_int_equal(mincost_add_arc(m, 1 + i, FIRST + i, SINK, 0, 3, 500), 0);
        assert_int_equal(mincost_add_arc(m, 1 + PLACES + i, HUB, FIRST + i, 0, 3, 0), 0);
    }
    for (uint32_t i = 0; i < USED; i++) {
        uint32_t arc = 1 + 2 * PLACES + 2 * i;
        assert_int_equal(mincost_add_arc(m, arc, USERS + i, FIRST + i, 0, 2, 0), 0);
        assert_int_equal(mincost_add_arc(m, arc + 1, USERS + i, HUB, 0, 9, 1000), 0);
    }
    assert_int_equal(mincost_set_node(m, SINK, -2 * USED), 0);
    assert_int_equal(mincost_solve(m), 0);
    for (uint32_t i = 0; i < USED; i++) {
        int64_t cost = 400 + (int64_t)(test_random(&stream) % 200);
        assert_int_equal(mincost_set_node(m, USERS + i, 1), 0);
        assert_int_equal(mincost_modify_arc(m, 1 + 2 * PLACES + 2 * i, 0, 1, 0), 0);
        assert_int_equal(mincost_modify_arc(m, 1 + i, 0, 3, cost), 0);
    }
    assert_int_equal(mincost_set_node(m, SINK, -USED), 0);
    assert_int_equal(mincost_solve(m), 0);
    assert_true(mincost_certify(m, &c));
    mincost_get_stats(m, &stats);
    if (stats.arcs_looked_at > PLACES)
        fail_msg("%" PRIu64 " halves looked at, by %s", stats.arcs_looked_at, stats.algorithm);
    mincost_destroy(m);
}

/* The same problem in units from 1 to 2^29, so that costs cross 32 bits and reach 2^40. */
/* As many tasks as slots: what is freed and what arrives meet over the whole cluster. */
static void a_full_cluster_is_not_walked_by_every_search(void **state)
{
    enum { WARM = 3, COUNTED = 10 };
    struct life life;
    struct mincost_stats stats;
    uint64_t looked_at = 0, arcs = 0, fallbacks = 0;
    (void)state;
    life_init(&life, "auto", 500, 6000);
    for (int round = 0; round < WARM + COUNTED; round++) {
        apply(&life);
        assert_int_equal(mincost_solve(life.problem), 0);
        mincost_get_stats(life.problem, &stats);
        if (round >= WARM) {
            looked_at += stats.arcs_looked_at;
            arcs += stats.arcs;
            fallbacks += stats.fallbacks;
        }
        if (round == WARM + COUNTED - 1)
            check_cost(&life, "the last full round");
        quincy_observe(life.q, life.problem);
        quincy_churn_round(life.q, 10);
    }
    life_done(&life);
    if (fallbacks || looked_at > 8 * arcs)
        fail_msg("%" PRIu64 " fallbacks, %" PRIu64 " halves looked at for %" PRIu64 " arcs",
                 fallbacks, looked_at, arcs);
}

static void costs_of_every_size_scale(void **state)
{
    (void)state;
    for (size_t i = 0; mincost_algorithms[i]; i++) {
        int64_t cost = 0;
        for (unsigned shift = 0; shift < 30; shift += shift == 0 ? 11 : 2) {
            struct life life;
            life_init(&life, mincost_algorithms[i]->name, 20, 220);
            struct changes *changes = (struct changes *)quincy_changes(life.q);
            for (size_t k = 0; k < changes->count; k++)
                if (changes->items[k].kind == MINCOST_ARC)
                    changes->items[k].cost *= INT64_C(1) << shift;
            apply(&life);
            assert_int_equal(mincost_solve(life.problem), 0);
            struct mincost_certificate c;
            assert_true(mincost_certify(life.problem, &c));
            if (shift == 0)
                cost = mincost_cost(life.problem);
            assert_true(mincost_cost(life.problem) == cost * (INT64_C(1) << shift));
            life_done(&life);
        }
        assert_true(cost > 0);
    }
}

static void *solve_chain(void *argument)
{
    enum { LENGTH = 50000 };
    struct mincost *problem;
    assert_int_equal(mincost_create(LENGTH, LENGTH, &problem), 0);
    assert_int_equal(mincost_set_algorithm(problem, argument), 0);
    for (uint32_t v = 1; v <= LENGTH; v++)
        assert_int_equal(mincost_set_node(problem, v, v == 1 ? 2 : v == LENGTH ? -2 : 0), 0);
    for (uint32_t v = 1; v < LENGTH; v++)
        assert_int_equal(mincost_add_arc(problem, v, v, v + 1, 0, 2, 3), 0);
    assert_int_equal(mincost_solve(problem), 0);
    assert_int_equal(mincost_cost(problem), 6 * (LENGTH - 1));
    mincost_destroy(problem);
    return NULL;
}

/* A path through all nodes would overflow it if anything called itself along the way. */
static void a_small_stack_is_enough_for_a_long_path(void **state)
{
    pthread_attr_t attributes;
    (void)state;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 128 * 1024), 0);
    for (size_t i = 0; mincost_algorithms[i]; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, &attributes, solve_chain,
                                        (void *)(uintptr_t)mincost_algorithms[i]->name),
                         0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    pthread_attr_destroy(&attributes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solving_allocates_nothing_after_warm_up),
        cmocka_unit_test(flows_are_the_same_with_every_compiler),
        cmocka_unit_test(changes_together_are_changes_one_by_one),
        cmocka_unit_test(changes_stop_at_the_first_that_is_refused),
        cmocka_unit_test(too_large_a_change_falls_back_to_scratch),
        cmocka_unit_test(a_full_cluster_is_not_walked_by_every_search),
        cmocka_unit_test(a_burst_that_waits_is_not_solved_from_nothing),
        cmocka_unit_test(what_has_gone_is_not_priced_over_the_hub),
        cmocka_unit_test(costs_of_every_size_scale),
        cmocka_unit_test(a_small_stack_is_enough_for_a_long_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
