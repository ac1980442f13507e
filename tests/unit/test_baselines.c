/* The simulator's baselines by hand, wrong estimates, job classes and the grid behind compare. */
#include "tests/unit/run_cases.h"

#include "testbed/sim/grid.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static struct run_config place_config(const char *place, uint32_t hosts, uint32_t slots)
{
    struct run_config config = {
        .hosts = hosts, .slots = slots, .link_bps = 8 * UNIT, .local_free = true};
    engine_config_default(&config.engine);
    strcpy(config.engine.place, place);
    strcpy(config.engine.network, "none");
    config.engine.mode_dwell_ns = 0;
    config.engine.hosts_max = hosts;
    return config;
}

static void expect_s(const struct run_config *config, struct workload_job *jobs, size_t n,
                     const double *want_s)
{
    double jct_s[4];
    struct run_result result = {.jct_s = jct_s};
    struct err err = {0};
    if (run_simulate(config, jobs, n, &result, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < n; i++)
        if (fabs(jct_s[i] - want_s[i]) > 1e-6)
            fail_msg("%s: job %zu took %.9f s, not %.9f", config->engine.place, i, jct_s[i],
                     want_s[i]);
}

/* Two blocks on one host of one slot: the second map waits (1 + 1 s), or after 0.25 s reads its
 * block from there for 1 s and computes 1 s elsewhere. */
static void test_delay_waits_for_a_local_slot_for_so_long(void **state)
{
    (void)state;
    struct workload_job job =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":2,\"input_bytes\":1000000,\"replicas\":[[0],[0]],"
               "\"compute_ms\":1000}]}");
    struct run_config config = place_config("delay", 2, 1);
    config.engine.hold_max_ns = 5000000000;
    expect_s(&config, &job, 1, (double[]){2});
    config.engine.hold_max_ns = 250000000;
    expect_s(&config, &job, 1, (double[]){2.25});
    strcpy(config.engine.place, "greedy");
    expect_s(&config, &job, 1, (double[]){2});
    workload_job_done(&job);
}

/* Three of four map outputs of 1 s each are on host 1, so a reduce task there has 1 s to fetch;
 * anywhere else it has 3 s or more. Least loaded (a tie, by chance) knows nothing of that. */
static void test_neat_goes_where_the_bytes_are(void **state)
{
    (void)state;
    struct workload_job job = job_of(
        "{\"id\":1,\"stages\":[{\"tasks\":4,\"input_bytes\":1,\"replicas\":[[0],[1],[1],[1]],"
        "\"compute_ms\":1000},{\"tasks\":1,\"parents\":[{\"stage\":0,\"sums\":[4000000]}]}]}");
    struct run_config config = place_config("neat", 4, 3);
    expect_s(&config, &job, 1, (double[]){2});
    strcpy(config.engine.place, "neat-fair");
    expect_s(&config, &job, 1, (double[]){2});
    workload_job_done(&job);
}

/* Two hosts and 1 MB for each: over one link of 1 MB/s from outside they share it, then compute for
 * 1 s; over a faster one their own links are what is short. Whose block is on its host reads
 * nothing. */
static void test_blocks_on_no_host_come_from_outside(void **state)
{
    (void)state;
    struct workload_job job = job_of("{\"id\":1,\"stages\":[{\"tasks\":2,\"input_bytes\":1000000,"
                                     "\"compute_ms\":1000}]}");
    struct workload_job placed =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":1,\"input_bytes\":1000000,"
               "\"replicas\":[[0]],\"compute_ms\":1000}]}");
    struct run_config config = place_config("greedy", 2, 1);
    expect_s(&config, &job, 1, (double[]){1});
    config.outside_bps = 8000000;
    expect_s(&config, &job, 1, (double[]){3});
    expect_s(&config, &placed, 1, (double[]){1});
    config.outside_bps = 80000000;
    expect_s(&config, &job, 1, (double[]){2});
    config.slots = 2;
    config.hosts = 1;
    expect_s(&config, &job, 1, (double[]){3});
    workload_job_done(&job);
    workload_job_done(&placed);
}

/* What is told changes decisions, not bytes: alone, a job takes as long. */
static void test_a_wrong_estimate_does_not_change_the_bytes(void **state)
{
    (void)state;
    struct workload_job job = job_of(
        "{\"id\":1,\"stages\":[{\"tasks\":1,\"input_bytes\":1,\"replicas\":[[0]]},{\"tasks\":"
        "2,\"parents\":[{\"stage\":0,\"sums\":[1000000,2000000]}]}]}");
    struct run_config config = place_config("neat", 3, 1);
    double alone_s[2];
    for (int i = 0; i < 2; i++) {
        struct run_result result = {.jct_s = &alone_s[i]};
        struct err err = {0};
        double told = 3;
        config.told = i ? &told : NULL;
        assert_int_equal(run_simulate(&config, &job, 1, &result, &err), 0);
    }
    assert_true(alone_s[0] > .9 && fabs(alone_s[0] - alone_s[1]) < 1e-5);
    workload_job_done(&job);
}

static void test_classes_are_powers_of_ten(void **state)
{
    (void)state;
    assert_int_equal(job_class_of(0), 0);
    assert_int_equal(job_class_of(999999), 0);
    assert_int_equal(job_class_of(1000000), 1);
    assert_int_equal(job_class_of(99999999999), 5);
    assert_int_equal(job_class_of(UINT64_MAX), 6);
}

static void test_lists_are_split_at_commas(void **state)
{
    (void)state;
    char words[3][32];
    struct err err = {0};
    assert_int_equal(batch_split("a,bc", words, 3, &err), 2);
    assert_string_equal(words[1], "bc");
    assert_true(batch_split("a,,b", words, 3, &err) < 0);
    assert_true(batch_split("a,b,c,d", words, 3, &err) < 0);
    assert_true(batch_split("", words, 3, &err) < 0);
}

static uint32_t levels_with(const char *policy, const char *levels)
{
    struct run_setup setup;
    struct run_inputs in = {.converted = true};
    struct run_config config;
    run_setup_init(&setup);
    assert_int_equal(run_setup_set(&setup, "policy", policy, NULL), 0);
    assert_int_equal(levels ? run_setup_set(&setup, "levels", levels, NULL) : 0, 0);
    run_setup_configure(&setup, &in, &config);
    assert_int_equal(config.engine.coflow.levels, config.engine.macroflow.levels);
    assert_true(config.engine.dclas.levels > 0);
    return config.engine.coflow.levels;
}

/* The engine's 0: a size is its own level. */
static void test_zero_levels_are_unlimited(void **state)
{
    (void)state;
    assert_int_equal(levels_with("duopoly", NULL), 8);
    assert_int_equal(levels_with("duopoly", "3"), 3);
    assert_int_equal(levels_with("duopoly", "0"), 0);
    assert_int_equal(levels_with("duopoly-ic", "3"), 0);
    assert_int_equal(levels_with("neat", "0"), ENGINE_LEVELS_MAX);
}

/* Of a trace and of a workload, whatever policy is asked for: what the daemon has. */
static void test_a_hold_ends_as_it_does_in_the_daemon(void **state)
{
    (void)state;
    static const char *const policies[] = {"joint", "duopoly", "duopoly-paper", "neat", "fair"};
    struct engine_config daemon;
    engine_config_default(&daemon);
    for (size_t i = 0; i < 2 * sizeof(policies) / sizeof(*policies); i++) {
        struct run_setup setup;
        struct run_inputs in = {.converted = i % 2};
        struct run_config config;
        const char *policy = policies[i / 2];
        run_setup_init(&setup);
        assert_int_equal(run_setup_set(&setup, "policy", policy, NULL), 0);
        run_setup_configure(&setup, &in, &config);
        assert_int_equal(config.engine.hold_max_ns, daemon.hold_max_ns);
        assert_int_equal(engine_config_value(&config.engine, "start_wait"),
                         strcmp(policy, "neat") == 0 ? 1000000000 : 0);
        assert_int_equal(run_setup_set(&setup, "hold-max", "none", NULL), 0);
        run_setup_configure(&setup, &in, &config);
        assert_true(config.engine.hold_max_ns > INT64_MAX / 4);
    }
}

/* What is said of a parameter wins over the preset and the options beside it. */
static void test_parameters_are_said(void **state)
{
    (void)state;
    struct run_setup setup;
    struct run_inputs in = {.converted = true};
    struct run_config config;
    struct err err;
    run_setup_init(&setup);
    assert_int_equal(run_setup_set(&setup, "maps", "anywhere", &err), 0);
    assert_int_equal(run_setup_set(&setup, "parameter", "even_wait=5 s", &err), 0);
    assert_int_equal(run_setup_set(&setup, "parameter", "ignore_held=yes", &err), 0);
    run_setup_configure(&setup, &in, &config);
    assert_int_equal(engine_config_value(&config.engine, "even_wait"), INT64_C(5000000000));
    assert_int_equal(engine_config_value(&config.engine, "ignore_held"), 1);
    static const char *const wrong[] = {"even_wait",      "even=1 s",          "even_wait=3",
                                        "even_wait=-1 s", "ignore_held=maybe", "=1 s"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_true(run_setup_set(&setup, "parameter", wrong[i], &err) < 0);
    assert_int_equal(setup.n_values, 2);
}

/* In parallel processes as in one: a grid's medians are those of the single runs. */
static void test_a_grid_repeats_single_runs(void **state)
{
    (void)state;
    static const char text[] = "4 3\n1 0 2 0 1 1 2:40\n2 100 1 3 2 0:10 1:30\n3 900 1 0 1 3:5\n";
    char path[] = "/tmp/duopoly-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    struct grid grid = {0};
    struct run_setup setup;
    struct run_inputs in = {0};
    struct err err = {0};
    run_setup_init(&setup);
    setup.path = path;
    assert_int_equal(grid_set_policies(&grid, "duopoly,aalo,neat", &err), 0);
    assert_int_equal(grid_set_values(&grid, "servers", "4,8", &err), 0);
    struct grid *const all = &grid;
    int r = grid_prepare(&grid, &setup, 3, &err);
    r = r ? r : grid_run(&all, 1, &err);
    assert_int_equal(run_setup_set(&setup, "servers", "8", &err), 0);
    setup.policy = grid.policies[1];
    setup.convert.seed = 1;
    double jct_s[3];
    struct run_result result = {.jct_s = jct_s};
    r = r ? r : run_inputs_read(&setup, &in, &err);
    r = r ? r : run_setup_simulate(&setup, &in, &(struct run_listeners){0}, &result, &err);
    unlink(path);
    if (r)
        fail_msg("%s", err.text);
    double least = 0, most = 0, mean = stats_of(jct_s, 3).mean;
    grid_range(&grid, 1, 1, offsetof(struct batch_row, jct.mean), &least, &most);
    assert_true(grid.items[9].row.jct.mean == mean);
    assert_true(least <= mean && mean <= most);
    assert_true(fabs(grid_gain(25, 100) - 75) < 1e-12);
    run_inputs_done(&in);
    grid_done(&grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delay_waits_for_a_local_slot_for_so_long),
        cmocka_unit_test(test_neat_goes_where_the_bytes_are),
        cmocka_unit_test(test_a_wrong_estimate_does_not_change_the_bytes),
        cmocka_unit_test(test_classes_are_powers_of_ten),
        cmocka_unit_test(test_lists_are_split_at_commas),
        cmocka_unit_test(test_zero_levels_are_unlimited),
        cmocka_unit_test(test_blocks_on_no_host_come_from_outside),
        cmocka_unit_test(test_a_hold_ends_as_it_does_in_the_daemon),
        cmocka_unit_test(test_parameters_are_said),
        cmocka_unit_test(test_a_grid_repeats_single_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
