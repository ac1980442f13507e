/* The Coflow schedulers by hand-made cases, by what no policy can beat, and by published totals. */
#include "tests/unit/test.h"

#include "testbed/sim/coflows/coflows.h"
#include "testbed/sim/network/fluid.h"
#include "testbed/sim/stats.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static struct workload_fb *parse(const char *text)
{
    struct workload_fb *t = NULL;
    struct err err = {0};
    if (workload_fb_parse(text, strlen(text), "t", &t, &err))
        fail_msg("%s", err.text);
    return t;
}

static void simulate(const char *policy, const struct coflows_config *config, double *cct_s)
{
    const struct coflow_policy *p = coflow_policy_find(policy);
    assert_non_null(p);
    assert_int_equal(coflows_simulate(p, config, cct_s, NULL), 0);
}

static void expect(const char *policy, const char *text, const double *expected)
{
    double cct_s[8];
    struct coflows_config config = {.trace = parse(text), .port_bytes_s = COFLOWS_PORT_BYTES_S};
    simulate(policy, &config, cct_s);
    for (size_t i = 0; i < config.trace->n_coflows; i++)
        if (fabs(cct_s[i] - expected[i]) > 1e-6)
            fail_msg("%s: coflow %zu took %.9f s, not %.9f", policy, i, cct_s[i], expected[i]);
    workload_fb_destroy((struct workload_fb *)config.trace);
}

/* A (256 MB) and B (128 MB) leave port 0 together: 2 s and 1 s of it. */
static void test_every_policy_on_two_coflows_by_hand(void **state)
{
    (void)state;
    const char *two = "3 2\n1 0 1 0 1 1:256\n2 0 1 0 1 2:128\n";
    expect("fifo", two, (double[]){2, 3});
    expect("ncf", two, (double[]){2, 3});
    expect("scf", two, (double[]){3, 1});
    expect("lcf", two, (double[]){3, 1});
    expect("sebf", two, (double[]){3, 1});
    expect("srtf", two, (double[]){3, 1});
    expect("fair", two, (double[]){3, 2});
    /* To 10 MB A, B; to 100 MB A, B; then A's last 156 MB, then B's 28. */
    expect("dclas", two, (double[]){356. / 128, 3});
}

static void test_a_later_and_shorter_coflow_overtakes(void **state)
{
    (void)state;
    const char *later = "3 2\n1 0 1 0 1 1:256\n2 1000 1 0 1 2:64\n";
    expect("fifo", later, (double[]){2, 1.5});
    expect("sebf", later, (double[]){2.5, .5});
    expect("srtf", later, (double[]){2.5, .5});
    expect("fair", later, (double[]){2.5, 1});
}

/* A's flows 0→1 (128 MB) and 2→1 (128 MB) need 2 s of port 1 whatever happens; paced, each takes
 * half of its sender, and B (64 MB from port 0) is backfilled beside it. */
static void test_madd_leaves_what_its_coflow_does_not_need(void **state)
{
    (void)state;
    const char *text = "4 2\n1 0 2 0 2 1 1:256\n2 0 1 0 1 3:64\n";
    expect("fifo", text, (double[]){2, 1});
}

static void test_narrowest_and_lightest_differ(void **state)
{
    (void)state;
    /* A is wide and light, B narrow and heavy; both need port 0's uplink. */
    const char *text = "6 2\n1 0 2 0 4 2 1:64 2:64\n2 0 1 0 1 3:256\n";
    expect("ncf", text, (double[]){2.5, 2});
    expect("lcf", text, (double[]){.5, 2.5});
}

static void test_local_flows_and_link_rates_can_be_chosen(void **state)
{
    (void)state;
    double cct_s[1];
    struct coflows_config config = {.trace = parse("2 1\n1 0 2 0 1 1 1:256\n"),
                                    .port_bytes_s = 1 << 20};
    for (const struct coflow_policy *const *p = coflow_policies; *p; p++) {
        config.local_free = false;
        simulate((*p)->name, &config, cct_s);
        assert_true(fabs(cct_s[0] - 256) < 1e-6);
        config.local_free = true;
        simulate((*p)->name, &config, cct_s);
        assert_true(fabs(cct_s[0] - 128) < 1e-6);
    }
    workload_fb_destroy((struct workload_fb *)config.trace);
}

static void test_coflows_without_bytes_end_on_arrival(void **state)
{
    (void)state;
    for (const struct coflow_policy *const *p = coflow_policies; *p; p++)
        expect((*p)->name, "3 2\n1 500 1 0 1 1:0\n2 500 1 0 1 1:128\n", (double[]){0, 1});
}

static void test_the_table_of_policies_keeps_its_contract(void **state)
{
    (void)state;
    for (const struct coflow_policy *const *p = coflow_policies; *p; p++) {
        assert_true((*p)->name && *(*p)->name && (*p)->what && *(*p)->what && (*p)->simulate);
        assert_ptr_equal(coflow_policy_find((*p)->name), *p);
    }
    assert_null(coflow_policy_find("best"));
}

static void test_compat_has_epochs_and_steps(void **state)
{
    (void)state;
    double cct_s[2];
    struct coflows_config config = {.trace = parse("3 2\n1 10241 1 0 1 1:1\n2 20480 1 0 1 2:3\n"),
                                    .port_bytes_s = COFLOWS_PORT_BYTES_S,
                                    .compat_coflowsim = true};
    assert_true(coflow_arrival_s(&config, &config.trace->coflows[0]) == 10);
    assert_true(coflow_arrival_s(&config, &config.trace->coflows[1]) == 10);
    simulate("dclas", &config, cct_s);
    assert_true(cct_s[0] == 1. / 128);
    assert_true(cct_s[1] == 4. / 128);
    assert_int_equal(coflows_simulate(coflow_policy_find("fair"), &config, cct_s, NULL), -EINVAL);
    workload_fb_destroy((struct workload_fb *)config.trace);
}

static struct workload_fb *random_trace(uint64_t *seed)
{
    static char text[16384];
    uint32_t ports = (uint32_t)(2 + test_random(seed) % 8),
             coflows = (uint32_t)(1 + test_random(seed) % 12);
    int at = snprintf(text, sizeof(text), "%u %u\n", ports, coflows);
    for (uint32_t i = 0; i < coflows; i++) {
        uint32_t m = (uint32_t)(1 + test_random(seed) % 6),
                 r = (uint32_t)(1 + test_random(seed) % 6);
        at += sprintf(text + at, "%u %u %u", i, (uint32_t)(test_random(seed) % 5000), m);
        while (m--)
            at += sprintf(text + at, " %u", (uint32_t)(test_random(seed) % ports));
        at += sprintf(text + at, " %u", r);
        while (r--)
            at += sprintf(text + at, " %u:%u", (uint32_t)(test_random(seed) % ports),
                          (uint32_t)(test_random(seed) % 300));
        at += sprintf(text + at, "\n");
    }
    return parse(text);
}

static double load(const struct coflows_config *config, const struct workload_fb_coflow *c,
                   bool receives, uint32_t port)
{
    double bytes = 0;
    for (uint32_t r = 0; r < c->n_reducers; r++)
        for (uint32_t m = 0; m < c->n_mappers; m++)
            if ((receives ? c->reducers[r].port : c->mappers[m]) == port)
                bytes += coflow_flow_bytes(config, c, r);
    return bytes;
}

/* Between any arrival and any end, what arrived and ended within fits through each port. */
static void no_port_carried_too_much(const char *policy, const struct coflows_config *config,
                                     const double *cct_s)
{
    const struct workload_fb *t = config->trace;
    for (size_t from = 0; from < t->n_coflows; from++)
        for (size_t to = 0; to < t->n_coflows; to++)
            for (uint32_t port = 0; port < 2 * t->n_ports; port++) {
                double begin = coflow_arrival_s(config, &t->coflows[from]), bytes = 0;
                double end = coflow_arrival_s(config, &t->coflows[to]) + cct_s[to];
                for (size_t i = 0; i < t->n_coflows && end > begin; i++) {
                    double arrival = coflow_arrival_s(config, &t->coflows[i]);
                    if (arrival >= begin && arrival + cct_s[i] <= end)
                        bytes +=
                            load(config, &t->coflows[i], port >= t->n_ports, port % t->n_ports);
                }
                if (bytes > 0 && bytes > 1 + (end - begin) * config->port_bytes_s * (1 + 1e-9))
                    fail_msg("%s: port %u carried %.0f bytes in %.9f s", policy, port, bytes,
                             end - begin);
            }
}

static void test_no_policy_beats_physics(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int round = 0; round < 40; round++) {
        double cct_s[16];
        struct coflows_config config = {.trace = random_trace(&seed),
                                        .port_bytes_s = COFLOWS_PORT_BYTES_S,
                                        .local_free = round % 2};
        for (const struct coflow_policy *const *p = coflow_policies; *p; p++) {
            config.compat_coflowsim = (*p)->compat && round % 4 > 1;
            simulate((*p)->name, &config, cct_s);
            for (size_t i = 0; i < config.trace->n_coflows; i++)
                assert_true(cct_s[i] >=
                            coflow_bound_s(&config, &config.trace->coflows[i]) * (1 - 1e-9) - 1e-8);
            if (!config.local_free && !config.compat_coflowsim)
                no_port_carried_too_much((*p)->name, &config, cct_s);
        }
        workload_fb_destroy((struct workload_fb *)config.trace);
    }
}

static void start_coflow(struct fluid *f, const struct workload_fb_coflow *c, uint64_t index,
                         uint32_t *left)
{
    for (uint32_t r = 0; r < c->n_reducers; r++) {
        struct fluid_source sources[8];
        uint32_t id;
        for (uint32_t m = 0; m < c->n_mappers; m++)
            sources[m] = (struct fluid_source){c->mappers[m], c->reducers[r].bytes / c->n_mappers};
        assert_int_equal(fluid_start(f, c->reducers[r].port, 0, sources, c->n_mappers, index, &id),
                         0);
        left[index]++;
    }
}

/* The same trace on the fluid network, which allocates in another way. */
static void fair_by_fluid(const struct workload_fb *t, double *cct_s)
{
    struct topology topology;
    struct fluid *f = NULL;
    struct fluid_event event;
    uint32_t left[16] = {0};
    assert_int_equal(topology_init_switch(&topology, t->n_ports, COFLOWS_PORT_BYTES_S, NULL), 0);
    struct fluid_config config = {.topology = &topology, .levels = 1};
    struct coflows_config trace = {.trace = t};
    assert_int_equal(fluid_create(&config, &f, NULL), 0);
    uint32_t *order = coflows_by_arrival(&trace);
    for (size_t arrived = 0;;) {
        int64_t next, arrival = FLUID_NEVER;
        assert_int_equal(fluid_next_ns(f, &next), 0);
        if (arrived < t->n_coflows)
            arrival = t->coflows[order[arrived]].arrival_ms * 1000000;
        if (next == FLUID_NEVER && arrival == FLUID_NEVER)
            break;
        assert_int_equal(fluid_advance(f, next < arrival ? next : arrival), 0);
        if (arrival <= next) {
            start_coflow(f, &t->coflows[order[arrived]], order[arrived], left);
            arrived++;
        }
        while (fluid_poll(f, &event))
            if (--left[event.subject] == 0)
                cct_s[event.subject] =
                    (double)(fluid_now_ns(f) - t->coflows[event.subject].arrival_ms * 1000000) *
                    1e-9;
    }
    free(order);
    fluid_destroy(f);
}

static void test_two_ways_to_be_fair_agree(void **state)
{
    (void)state;
    uint64_t seed = test_seed() + 1;
    for (int round = 0; round < 100; round++) {
        double dense[16], fluid[16];
        struct coflows_config config = {.trace = random_trace(&seed),
                                        .port_bytes_s = COFLOWS_PORT_BYTES_S};
        simulate("fair", &config, dense);
        fair_by_fluid(config.trace, fluid);
        for (size_t i = 0; i < config.trace->n_coflows; i++)
            if (fabs(dense[i] - fluid[i]) > 1e-6)
                fail_msg("coflow %zu: %.9f s dense, %.9f s on the fluid network", i, dense[i],
                         fluid[i]);
        workload_fb_destroy((struct workload_fb *)config.trace);
    }
}

static struct stats benchmark(const char *policy, const struct workload_fb *t, bool compat,
                              double *ret_makespan_s)
{
    double *cct_s = calloc(t->n_coflows, sizeof(*cct_s));
    struct coflows_config config = {
        .trace = t, .port_bytes_s = COFLOWS_PORT_BYTES_S, .compat_coflowsim = compat};
    assert_non_null(cct_s);
    simulate(policy, &config, cct_s);
    *ret_makespan_s = 0;
    for (size_t i = 0; i < t->n_coflows; i++) {
        assert_true(cct_s[i] >= coflow_bound_s(&config, &t->coflows[i]) * (1 - 1e-9) - 1e-8);
        *ret_makespan_s =
            fmax(*ret_makespan_s, coflow_arrival_s(&config, &t->coflows[i]) + cct_s[i]);
    }
    struct stats s = stats_of(cct_s, t->n_coflows);
    free(cct_s);
    return s;
}

static void test_published_totals_of_the_benchmark_trace(void **state)
{
    (void)state;
    const char *path = getenv("FB_TRACE");
    struct workload_fb *t = NULL;
    if (workload_fb_load(path ? path : "../shared/traces/FB2010-1Hr-150-0.txt", &t, NULL))
        skip_since("no Facebook trace (FB_TRACE=)");
    double makespan_s;
    struct stats s = benchmark("dclas", t, true, &makespan_s);
    assert_int_equal(lround(s.mean * 1024), 46098);
    assert_int_equal(lround(s.median * 1024), 216);
    assert_int_equal(lround(s.p95 * 1024), 71224);
    assert_int_equal(lround(s.p99 * 1024), 1894408);
    assert_int_equal(lround(makespan_s * 1024), 4637280);
    assert_true(fabs(benchmark("fair", t, false, &makespan_s).mean - 56.16) < .0562);
    assert_true(benchmark("sebf", t, false, &makespan_s).mean <= 26.3);
    workload_fb_destroy(t);
}

static void test_medians_and_nearest_ranks(void **state)
{
    (void)state;
    double values[20];
    for (int i = 0; i < 20; i++)
        values[i] = 20 - i;
    struct stats s = stats_of(values, 20);
    assert_true(s.mean == 10.5 && s.median == 10.5 && s.p95 == 19 && s.p99 == 20 && s.max == 20);
    s = stats_of(values, 19);
    assert_true(s.median == 10);
    s = stats_of((double[]){4, 1}, 2);
    assert_true(s.median == 2.5);
    s = stats_of((double[]){7}, 1);
    assert_true(s.median == 7);
    s = stats_of(values, 0);
    assert_true(s.mean == 0 && s.max == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_policy_on_two_coflows_by_hand),
        cmocka_unit_test(test_a_later_and_shorter_coflow_overtakes),
        cmocka_unit_test(test_madd_leaves_what_its_coflow_does_not_need),
        cmocka_unit_test(test_narrowest_and_lightest_differ),
        cmocka_unit_test(test_local_flows_and_link_rates_can_be_chosen),
        cmocka_unit_test(test_coflows_without_bytes_end_on_arrival),
        cmocka_unit_test(test_the_table_of_policies_keeps_its_contract),
        cmocka_unit_test(test_compat_has_epochs_and_steps),
        cmocka_unit_test(test_no_policy_beats_physics),
        cmocka_unit_test(test_two_ways_to_be_fair_agree),
        cmocka_unit_test(test_published_totals_of_the_benchmark_trace),
        cmocka_unit_test(test_medians_and_nearest_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
