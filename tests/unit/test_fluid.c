/* The fluid network: its two methods against each other, a certificate of max-min fairness, and
 * cases by hand. */
#include "tests/unit/test.h"

#include "testbed/sim/network/fluid.h"
#include "tests/unit/fluid_certify.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { S = 1000000000 };

static struct topology topology_of(uint32_t hosts, double bytes_s)
{
    struct topology t;
    assert_int_equal(topology_init_switch(&t, hosts, bytes_s, NULL), 0);
    return t;
}

enum form { MATRICES, PLAIN_MATRICES, GRAPH };

static struct fluid *network_of(const struct topology *t, uint32_t levels, enum form form)
{
    struct fluid *f = NULL;
    struct fluid_config config = {
        .topology = t, .levels = levels, .sparse = form == GRAPH, .plain = form == PLAIN_MATRICES};
    assert_int_equal(fluid_create(&config, &f, NULL), 0);
    return f;
}

static struct fluid *network(const struct topology *t, uint32_t levels)
{
    return network_of(t, levels, MATRICES);
}

static uint32_t start(struct fluid *f, uint32_t source, uint32_t target, uint32_t level,
                      int64_t bytes, uint64_t name)
{
    uint32_t id;
    struct fluid_source from = {source, bytes};
    assert_int_equal(fluid_start(f, target, level, &from, 1, name, &id), 0);
    return id;
}

static void certified(struct fluid *f)
{
    struct err err = {0};
    if (fluid_certify(f, &err))
        fail_msg("%s", err.text);
}

static double rate(struct fluid *f, uint32_t id, uint32_t host)
{
    double bytes_s;
    assert_int_equal(fluid_flow_rate(f, id, host, &bytes_s), 0);
    return bytes_s;
}

/* Runs until the network is empty; end_ns[subject] is set for each Macroflow that ends. */
static void run(struct fluid *f, int64_t *end_ns)
{
    int64_t at;
    struct fluid_event event;
    while (assert_int_equal(fluid_next_ns(f, &at), 0), at != FLUID_NEVER) {
        assert_true(at >= fluid_now_ns(f));
        assert_int_equal(fluid_advance(f, at), 0);
        certified(f);
        while (fluid_poll(f, &event))
            if (event.kind == FLUID_ENDED)
                end_ns[event.subject] = at;
    }
}

static void test_flows_of_a_level_share_by_max_min(void **state)
{
    (void)state;
    struct topology t = topology_of(4, 120);
    struct fluid *f = network(&t, 1);
    /* Uplink 0 has three flows; downlink 3 has one of them and another, which takes what that one
     * leaves. */
    uint32_t a = start(f, 0, 1, 0, 1000, 0), b = start(f, 0, 2, 0, 1000, 1),
             c = start(f, 0, 3, 0, 1000, 2);
    uint32_t d = start(f, 1, 3, 0, 1000, 3);
    certified(f);
    assert_true(fabs(rate(f, a, 0) - 40) < 1e-9 && fabs(rate(f, b, 0) - 40) < 1e-9 &&
                fabs(rate(f, c, 0) - 40) < 1e-9);
    assert_true(fabs(rate(f, d, 1) - 80) < 1e-9);
    fluid_destroy(f);
}

static void test_a_level_gets_only_what_those_above_leave(void **state)
{
    (void)state;
    struct topology t = topology_of(3, 100);
    struct fluid *f = network(&t, 3);
    int64_t end[3];
    uint32_t low = start(f, 0, 2, 2, 300, 0), high = start(f, 0, 1, 0, 100, 1),
             middle = start(f, 1, 2, 1, 100, 2);
    certified(f);
    assert_true(rate(f, low, 0) == 0 && rate(f, high, 0) == 100 && rate(f, middle, 1) == 100);
    run(f, end);
    assert_int_equal(end[1], 1 * (int64_t)S);
    assert_int_equal(end[2], 1 * (int64_t)S);
    assert_int_equal(end[0], 4 * (int64_t)S);
    fluid_destroy(f);
}

/* Example 1 of the source: Fa1 and Fa2 leave P1 with 1 unit each, Fb follows in the slot that frees
 * first. */
static void test_example_1(void **state)
{
    (void)state;
    struct topology t = topology_of(5, 1000000);
    struct fluid *f = network(&t, 2);
    int64_t end[3] = {0}, at;
    struct fluid_event event;
    start(f, 0, 2, 0, 1000000, 0);
    start(f, 0, 3, 1, 1000000, 1);
    assert_int_equal(fluid_next_ns(f, &at), 0);
    assert_int_equal(at, 1 * (int64_t)S);
    assert_int_equal(fluid_advance(f, at), 0);
    assert_true(fluid_poll(f, &event));
    assert_int_equal(event.subject, 0);
    start(f, 1, 2, 0, 2000000, 2);
    run(f, end);
    assert_int_equal(end[1], 2 * (int64_t)S);
    assert_int_equal(end[2], 3 * (int64_t)S);
    fluid_destroy(f);
}

static void test_levels_change_and_macroflows_stop_in_flight(void **state)
{
    (void)state;
    struct topology t = topology_of(2, 100);
    struct fluid *f = network(&t, 8);
    int64_t end[3] = {-1, -1, -1}, at;
    uint32_t a = start(f, 0, 1, 7, 200, 0), b = start(f, 0, 1, 3, 200, 1),
             c = start(f, 0, 1, 1, 500, 2);
    assert_int_equal(fluid_next_ns(f, &at), 0);
    assert_int_equal(fluid_advance(f, S), 0);
    assert_int_equal(fluid_received_bytes(f, c), 100);
    assert_int_equal(fluid_received_bytes(f, a), 0);
    assert_int_equal(fluid_set_level(f, a, 0), 0);
    assert_int_equal(fluid_stop(f, c), 0);
    certified(f);
    assert_true(rate(f, a, 0) == 100 && rate(f, b, 0) == 0);
    run(f, end);
    assert_int_equal(end[0], 3 * (int64_t)S);
    assert_int_equal(end[1], 5 * (int64_t)S);
    assert_int_equal(end[2], -1);
    fluid_destroy(f);
}

static void test_macroflows_without_network_end_at_once(void **state)
{
    (void)state;
    struct topology t = topology_of(2, 100);
    struct fluid *f = NULL;
    struct fluid_config config = {.topology = &t, .levels = 1, .local_free = true};
    assert_int_equal(fluid_create(&config, &f, NULL), 0);
    struct fluid_source local = {1, 1000};
    uint32_t id;
    int64_t end[2] = {-1, -1};
    assert_int_equal(fluid_start(f, 1, 0, &local, 1, 0, &id), 0);
    assert_int_equal(fluid_received_bytes(f, id), 1000);
    assert_int_equal(fluid_start(f, 1, 0, NULL, 0, 1, &id), 0);
    run(f, end);
    assert_int_equal(end[0], 0);
    assert_int_equal(end[1], 0);
    fluid_destroy(f);
}

static void test_uplinks_turn_hot_and_cool(void **state)
{
    (void)state;
    struct topology t = topology_of(3, 100);
    struct fluid *f = NULL;
    struct fluid_config config = {
        .topology = &t, .levels = 2, .hot_per_mille = 900, .cool_per_mille = 800};
    struct fluid_event event;
    int64_t at;
    assert_int_equal(fluid_create(&config, &f, NULL), 0);
    uint32_t a = start(f, 0, 2, 0, 1000, 0);
    assert_int_equal(fluid_next_ns(f, &at), 0);
    assert_true(fluid_poll(f, &event));
    assert_int_equal(event.kind, FLUID_HOT);
    assert_int_equal(event.subject, 0);
    assert_int_equal(event.per_mille, 1000);
    uint32_t b = start(f, 1, 2, 0, 1000, 1);
    assert_int_equal(fluid_next_ns(f, &at), 0);
    assert_true(fluid_poll(f, &event));
    assert_int_equal(event.kind, FLUID_COOL);
    assert_int_equal(event.per_mille, 500);
    assert_false(fluid_poll(f, &event));
    assert_int_equal(fluid_stop(f, a), 0);
    assert_int_equal(fluid_stop(f, b), 0);
    fluid_destroy(f);
}

static void test_leaf_spine_shares_the_core(void **state)
{
    (void)state;
    struct topology t;
    assert_int_equal(topology_init_leaf_spine(&t, 2, 4, 100, 2, 4, true, NULL), 0);
    struct fluid *f = network(&t, 1);
    uint32_t ids[4];
    for (uint32_t i = 0; i < 4; i++)
        ids[i] = start(f, i, 4 + i, 0, 1000, i);
    uint32_t inside = start(f, 0, 1, 0, 1000, 4);
    certified(f);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(fabs(rate(f, ids[i], i) - 25) < 1e-9);
    assert_true(fabs(rate(f, inside, 0) - 75) < 1e-9);
    fluid_destroy(f);
    assert_int_equal(topology_init_leaf_spine(&t, 2, 4, 100, 2, .5, true, NULL), -EINVAL);
}

static struct topology random_topology(uint64_t *seed)
{
    struct topology t;
    if (test_random(seed) % 2)
        return topology_of((uint32_t)(2 + test_random(seed) % 12), 1e6);
    assert_int_equal(topology_init_leaf_spine(&t, (uint32_t)(1 + test_random(seed) % 4),
                                              (uint32_t)(1 + test_random(seed) % 5), 1e6,
                                              (uint32_t)(1 + test_random(seed) % 3),
                                              1 + (double)(test_random(seed) % 4),
                                              test_random(seed) % 2, NULL),
                     0);
    return t;
}

enum { OPS = 400 };

struct history {
    uint32_t ids[OPS];
    int64_t bytes[OPS], started_ns[OPS], ended_ns[OPS];
    bool alive[OPS];
    uint32_t n;
};

static void random_start(struct fluid *f, const struct topology *t, uint32_t levels,
                         struct history *h, uint64_t *seed)
{
    struct fluid_source sources[6];
    uint32_t n = (uint32_t)(1 + test_random(seed) % 6), i = h->n++;
    h->bytes[i] = 0;
    for (uint32_t j = 0; j < n; j++) {
        sources[j] = (struct fluid_source){(uint32_t)(test_random(seed) % t->n_hosts),
                                           (int64_t)(1 + test_random(seed) % 3) * 250000};
        h->bytes[i] += sources[j].bytes;
    }
    h->alive[i] = true;
    h->started_ns[i] = fluid_now_ns(f);
    assert_int_equal(fluid_start(f, (uint32_t)(test_random(seed) % t->n_hosts),
                                 (uint32_t)(test_random(seed) % levels), sources, n, i, &h->ids[i]),
                     0);
}

static void note_events(struct fluid *f, struct history *h)
{
    struct fluid_event event;
    while (fluid_poll(f, &event)) {
        if (event.kind != FLUID_ENDED)
            continue;
        assert_true(h->alive[event.subject]);
        h->alive[event.subject] = false;
        h->ended_ns[event.subject] = fluid_now_ns(f);
        /* Nothing arrives faster than its downlink. */
        double least = (double)h->bytes[event.subject] / 1e6 * 1e9;
        assert_true((double)(fluid_now_ns(f) - h->started_ns[event.subject]) >= least - 1);
    }
}

static void random_step(struct fluid *f, const struct topology *t, uint32_t levels,
                        struct history *h, uint64_t *seed)
{
    int64_t at;
    uint32_t some = h->n ? (uint32_t)(test_random(seed) % h->n) : 0;
    uint64_t what = test_random(seed) % 8;
    if (h->n < OPS && what < 3) {
        random_start(f, t, levels, h, seed);
    } else if (what == 3 && h->alive[some]) {
        assert_int_equal(fluid_set_level(f, h->ids[some], (uint32_t)(test_random(seed) % levels)),
                         0);
    } else if (what == 4 && h->alive[some]) {
        assert_true(fluid_received_bytes(f, h->ids[some]) <= h->bytes[some]);
        assert_int_equal(fluid_stop(f, h->ids[some]), 0);
        h->alive[some] = false;
    } else {
        assert_int_equal(fluid_next_ns(f, &at), 0);
        if (at != FLUID_NEVER)
            assert_int_equal(fluid_advance(f, what == 5 ? (fluid_now_ns(f) + at) / 2 : at), 0);
    }
}

static void test_every_allocation_is_certified(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int round = 0; round < 120; round++) {
        struct topology t = random_topology(&seed);
        uint32_t levels = (uint32_t)(1 + test_random(&seed) % 4);
        struct fluid *f = network_of(&t, levels, (enum form)(round % 3));
        struct history h = {.n = 0};
        for (int i = 0; i < OPS; i++) {
            random_step(f, &t, levels, &h, &seed);
            certified(f);
            note_events(f, &h);
        }
        run(f, h.ended_ns);
        fluid_destroy(f);
    }
}

/* What happens to a network from outside, at instants that do not depend on it. */
struct change {
    int64_t at_ns;
    uint32_t target, level, n,
        of; /* of: level is the new one of that Macroflow; UINT32_MAX: none */
    struct fluid_source sources[6];
};

static void apply(struct fluid *f, const struct change *changes, uint32_t i, uint32_t *ids,
                  const int64_t *ended_ns)
{
    const struct change *c = &changes[i];
    if (c->of == UINT32_MAX)
        assert_int_equal(fluid_start(f, c->target, c->level, c->sources, c->n, i, &ids[i]), 0);
    else if (ended_ns[c->of] < 0)
        assert_int_equal(fluid_set_level(f, ids[c->of], c->level), 0);
}

/* How often each uplink became hot or cool, and when at last. */
struct heat {
    uint32_t changes[82];
    int64_t last_ns[82];
};

static void play(const struct fluid_config *config, const struct change *changes, uint32_t n,
                 int64_t *ret_ended_ns, struct heat *ret_heat)
{
    uint32_t ids[OPS];
    int64_t at = 0;
    struct fluid *f = NULL;
    struct fluid_event event;
    *ret_heat = (struct heat){0};
    for (uint32_t i = 0; i < n; i++)
        ret_ended_ns[i] = -1;
    assert_int_equal(fluid_create(config, &f, NULL), 0);
    for (uint32_t i = 0; i < n || at != FLUID_NEVER;) {
        assert_int_equal(fluid_next_ns(f, &at), 0);
        bool change = i < n && changes[i].at_ns <= at;
        if (change || at != FLUID_NEVER)
            assert_int_equal(fluid_advance(f, change ? changes[i].at_ns : at), 0);
        while (fluid_poll(f, &event)) {
            if (event.kind == FLUID_ENDED) {
                ret_ended_ns[event.subject] = fluid_now_ns(f);
                continue;
            }
            assert_int_equal(event.kind == FLUID_COOL, ret_heat->changes[event.subject]++ % 2);
            ret_heat->last_ns[event.subject] = fluid_now_ns(f);
        }
        if (change)
            apply(f, changes, i++, ids, ret_ended_ns);
    }
    fluid_destroy(f);
}

static struct change random_change(uint64_t *seed, const struct topology *t, uint32_t levels,
                                   const struct change *before, uint32_t n)
{
    struct change c = {
        .at_ns = n ? before[n - 1].at_ns + (int64_t)(test_random(seed) % 4) * 70000001 : 0,
        .target = (uint32_t)(test_random(seed) % t->n_hosts),
        .level = (uint32_t)(test_random(seed) % levels),
        .n = (uint32_t)(1 + test_random(seed) % 6),
        .of = UINT32_MAX};
    uint32_t some = n ? (uint32_t)(test_random(seed) % n) : 0;
    if (n && test_random(seed) % 2 && before[some].of == UINT32_MAX)
        c.of = some;
    for (uint32_t i = 0; i < c.n; i++)
        c.sources[i] = (struct fluid_source){(uint32_t)(test_random(seed) % t->n_hosts),
                                             (int64_t)(1 + test_random(seed) % 300000)};
    return c;
}

static void test_matrices_and_graph_agree(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int round = 0; round < 40; round++) {
        struct topology t = topology_of((uint32_t)(2 + test_random(&seed) % 80), 1e6);
        uint32_t levels = (uint32_t)(1 + test_random(&seed) % 8);
        struct change changes[OPS];
        int64_t dense_ns[OPS], plain_ns[OPS], sparse_ns[OPS];
        struct heat dense_heat, plain_heat, sparse_heat;
        struct fluid_config config = {
            .topology = &t, .levels = levels, .hot_per_mille = 900, .cool_per_mille = 700};
        for (uint32_t i = 0; i < OPS; i++)
            changes[i] = random_change(&seed, &t, levels, changes, i);
        play(&config, changes, OPS, dense_ns, &dense_heat);
        config.plain = true;
        play(&config, changes, OPS, plain_ns, &plain_heat);
        config.sparse = true;
        play(&config, changes, OPS, sparse_ns, &sparse_heat);
        assert_memory_equal(dense_ns, plain_ns, sizeof(dense_ns));
        assert_memory_equal(&dense_heat, &plain_heat, sizeof(dense_heat));
        for (uint32_t i = 0; i < OPS; i++)
            if (llabs(dense_ns[i] - sparse_ns[i]) > 100)
                fail_msg("Macroflow %u ends at %" PRId64 " or at %" PRId64 " ns", i, dense_ns[i],
                         sparse_ns[i]);
        for (uint32_t i = 0; i < t.n_hosts; i++)
            if (dense_heat.changes[i] != sparse_heat.changes[i] ||
                llabs(dense_heat.last_ns[i] - sparse_heat.last_ns[i]) > 100)
                fail_msg("uplink %u turns %u or %u times, last at %" PRId64 " or at %" PRId64 " ns",
                         i, dense_heat.changes[i], sparse_heat.changes[i], dense_heat.last_ns[i],
                         sparse_heat.last_ns[i]);
    }
}

/* One more flow between hosts that share nothing with the rest visits as many links in a large
 * network as in a small one. */
static uint64_t visits_of_one_change(uint32_t hosts)
{
    struct topology t = topology_of(hosts, 1e6);
    struct fluid *f = network_of(&t, 8, GRAPH);
    int64_t at;
    for (uint32_t i = 0; i + 1 < hosts; i += 2)
        for (uint32_t j = 0; j < 4; j++)
            start(f, i, i + 1, j, 1000000 + i, i);
    assert_int_equal(fluid_next_ns(f, &at), 0);
    uint64_t before = f->visited;
    start(f, 0, 1, 2, 5000, hosts);
    assert_int_equal(fluid_next_ns(f, &at), 0);
    uint64_t visits = f->visited - before;
    fluid_destroy(f);
    return visits;
}

static void test_cost_follows_what_changed(void **state)
{
    (void)state;
    assert_true(visits_of_one_change(20) > 0);
    assert_int_equal(visits_of_one_change(20), visits_of_one_change(2000));
}

static void test_refuses_impossible_configurations(void **state)
{
    (void)state;
    struct topology t = topology_of(2, 100);
    struct fluid *f = NULL;
    struct fluid_config none = {.topology = &t}, upside_down = {.topology = &t,
                                                                .levels = 1,
                                                                .hot_per_mille = 800,
                                                                .cool_per_mille = 900};
    assert_int_equal(fluid_create(&none, &f, NULL), -EINVAL);
    assert_int_equal(fluid_create(&upside_down, &f, NULL), -EINVAL);
    assert_int_equal(topology_init_switch(&t, 0, 100, NULL), -EINVAL);
    assert_int_equal(topology_init_switch(&t, 2, -1, NULL), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flows_of_a_level_share_by_max_min),
        cmocka_unit_test(test_a_level_gets_only_what_those_above_leave),
        cmocka_unit_test(test_example_1),
        cmocka_unit_test(test_levels_change_and_macroflows_stop_in_flight),
        cmocka_unit_test(test_macroflows_without_network_end_at_once),
        cmocka_unit_test(test_uplinks_turn_hot_and_cool),
        cmocka_unit_test(test_leaf_spine_shares_the_core),
        cmocka_unit_test(test_every_allocation_is_certified),
        cmocka_unit_test(test_matrices_and_graph_agree),
        cmocka_unit_test(test_cost_follows_what_changed),
        cmocka_unit_test(test_refuses_impossible_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
