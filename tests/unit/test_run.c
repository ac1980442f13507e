/* The engine under virtual time. */
#include "tests/unit/run_cases.h"

#include "testbed/sim/cluster/recording_replay.h"
#include "testbed/sim/network/ranks.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { JOBS = 24 };

static void expect_example_2(const char *policy, double a_s, double b_s)
{
    struct workload_job jobs[2] = {
        job_of("{\"id\":1,\"stages\":[{\"tasks\":4,\"input_bytes\":1000000,\"replicas\":[[0],[0],["
               "1],[1]],\"compute_ms\":1000},"
               "{\"tasks\":4,\"parents\":[{\"stage\":0,\"sums\":[4000000,4000000,4000000,4000000]}]"
               "}]}"),
        job_of("{\"id\":2,\"arrival_ms\":2000,\"stages\":[{\"tasks\":1,\"input_bytes\":1000000,"
               "\"replicas\":[[0,1]],"
               "\"compute_ms\":1000}]}")};
    double jct_s[2];
    struct run_config config = config_of(policy, 2, 2, 8 * UNIT);
    simulate(&config, jobs, 2, jct_s);
    if (fabs(jct_s[0] - a_s) > 1e-6 || fabs(jct_s[1] - b_s) > 1e-6)
        fail_msg("%s: A took %.9f s, B %.9f", policy, jct_s[0], jct_s[1]);
    workload_job_done(&jobs[0]);
    workload_job_done(&jobs[1]);
}

/* The source's example 2, its figures from both jobs' submission. */
static void test_example_2(void **state)
{
    (void)state;
    expect_example_2("duopoly", 5, 1);
    expect_example_2("fair", 5, 4);
}

/* One slot; the second of two waiting jobs has the higher priority, which counts if a parameter
 * says so by the time the slot is free. */
static void test_a_parameter_changes_while_jobs_run(void **state)
{
    (void)state;
    const struct run_change change = {500000000, {"weight.priority", 1}};
    for (uint32_t changes = 0; changes <= 1; changes++) {
        struct workload_job jobs[3] = {
            job_of("{\"id\":1,\"stages\":[{\"tasks\":1,\"compute_ms\":1000}]}"),
            job_of("{\"id\":2,\"arrival_ms\":100,\"stages\":[{\"tasks\":1,\"compute_ms\":1000}]}"),
            job_of("{\"id\":3,\"arrival_ms\":200,\"priority\":5,\"stages\":[{\"tasks\":1,"
                   "\"compute_ms\":1000}]}")};
        double jct_s[3];
        struct run_config config = config_of("fifo", 1, 1, 8 * UNIT);
        strcpy(config.engine.place, "flow");
        config.changes = &change;
        config.n_changes = changes;
        simulate(&config, jobs, 3, jct_s);
        assert_true(fabs(jct_s[1] - (changes ? 2.9 : 1.9)) < 1e-6);
        assert_true(fabs(jct_s[2] - (changes ? 1.8 : 2.8)) < 1e-6);
        for (int i = 0; i < 3; i++)
            workload_job_done(&jobs[i]);
    }
}

/* Two maps with one block, a slot on each host: one is away from it. */
static struct run_result run_off_block(const char *own_links, double headers, double *ret_jct_s)
{
    struct workload_job job =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":2,\"input_bytes\":1000000,\"replicas\":[[0],[0]],"
               "\"compute_ms\":500}]}");
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    strcpy(config.engine.place, "greedy");
    config.own_links = own_links;
    config.headers = headers;
    struct run_result result = simulate(&config, &job, 1, ret_jct_s);
    workload_job_done(&job);
    return result;
}

static void test_a_map_off_its_block_fetches_it_first(void **state)
{
    (void)state;
    double jct_s;
    struct run_result result = run_off_block(NULL, 0, &jct_s);
    assert_true(fabs(jct_s - 1.5) < 1e-6);
    assert_int_equal(result.tasks, 2);
    assert_true(fabs(result.link_use - 1 / (2 * 1.5)) < 1e-6);
}

static void test_headers_take_their_part_of_every_link(void **state)
{
    (void)state;
    double jct_s;
    run_off_block(NULL, .5, &jct_s);
    assert_true(fabs(jct_s - 2.5) < 1e-6);
    run_off_block("h0=8Mbps,h1=8Mbps", .5, &jct_s);
    assert_true(fabs(jct_s - 2.5) < 1e-6);
}

/* Its source's uplink has half the rate; the use is that of what uplinks can carry. */
static void test_links_have_rates_of_their_own(void **state)
{
    (void)state;
    double jct_s;
    struct run_result result = run_off_block("h1=1Mbps,h1.down=8Mbps,h0.up=4Mbps", 0, &jct_s);
    assert_true(fabs(jct_s - 2.5) < 1e-6);
    assert_true(fabs(result.link_use - 1 / ((.5 + .125) * 2.5)) < 1e-6);
}

static size_t random_jobs(struct workload_job *jobs, uint64_t *seed)
{
    size_t n = 1 + test_random(seed) % JOBS;
    uint64_t arrival_ms = 0;
    for (size_t i = 0; i < n; i++) {
        char line[2048];
        uint32_t reduces = (uint32_t)(1 + test_random(seed) % 8);
        arrival_ms += test_random(seed) % 3000;
        int at = sprintf(line,
                         "{\"id\":%zu,\"arrival_ms\":%u,\"stages\":[{\"tasks\":%u,\"compute_ms\":%"
                         "u},{\"tasks\":%u,"
                         "\"compute_ms\":%u,\"parents\":[{\"stage\":0,\"sums\":[",
                         i + 1, (uint32_t)arrival_ms, (uint32_t)(1 + test_random(seed) % 12),
                         (uint32_t)(test_random(seed) % 800), reduces,
                         (uint32_t)(test_random(seed) % 800));
        for (uint32_t t = 0; t < reduces; t++)
            at += sprintf(line + at, "%s%u", t ? "," : "",
                          (uint32_t)(1 + test_random(seed) % (3 * UNIT)));
        sprintf(line + at, "]}]}]}");
        jobs[i] = job_of(line);
    }
    return n;
}

/* No job beats its own longest map and reduce, nothing is used beyond what there is, every task
 * runs once. */
static void check_physics(const struct run_config *config, const struct workload_job *jobs,
                          size_t n, const struct run_result *result)
{
    uint64_t tasks = 0;
    for (size_t i = 0; i < n; i++) {
        const struct workload_stage *map = &jobs[i].stages[0], *reduce = &jobs[i].stages[1];
        uint64_t map_ns = map->compute_ns ? map->compute_ns[0] : 0;
        uint64_t reduce_ns = reduce->compute_ns ? reduce->compute_ns[0] : 0;
        tasks += map->tasks + reduce->tasks;
        assert_true(result->jct_s[i] >= (double)(map_ns + reduce_ns) * 1e-9 - 1e-9);
    }
    assert_int_equal(result->tasks, tasks);
    assert_true(result->link_use >= 0 && result->link_use <= 1 + 1e-6);
    assert_true(result->starved >= 0 && result->starved <= 1 + 1e-9);
    assert_true(result->held_slot_s <= result->makespan_s * config->hosts * config->slots);
}

struct links_seen {
    int64_t at_ns;
    double carried_s, awaited_s, held_s, nothing_s; /* × all downlinks */
};

static void see_links(void *context, const struct run_links *l)
{
    struct links_seen *seen = context;
    double s = (double)(l->to_ns - l->from_ns) * 1e-9;
    assert_int_equal(l->from_ns, seen->at_ns);
    assert_true(fabs(l->carried + l->awaited + l->held + l->nothing - 1) < 1e-9);
    seen->at_ns = l->to_ns;
    seen->carried_s += s * l->carried;
    seen->awaited_s += s * l->awaited;
    seen->held_s += s * l->held;
    seen->nothing_s += s * l->nothing;
}

/* Two maps of 1 s on one host; then two reduce tasks on the others, each of 2 MB from it: its
 * uplink of 1 MB/s is what is short, so 4 s pass with two downlinks of three half used. */
static void test_the_links_time_is_told_in_parts(void **state)
{
    (void)state;
    struct workload_job job =
        job_of("{\"id\":1,\"arrival_ms\":1000,\"stages\":[{\"tasks\":2,\"input_bytes\":1000,"
               "\"replicas\":[[0],[0]],\"compute_ms\":1000},"
               "{\"tasks\":2,\"parents\":[{\"stage\":0,\"sums\":[2000000,2000000]}]}]}");
    double jct_s;
    struct links_seen seen = {0};
    struct run_config config = config_of("fair", 3, 2, 8 * UNIT);
    strcpy(config.engine.place, "nats");
    config.local_free = false;
    config.links = see_links;
    config.links_listener = &seen;
    simulate(&config, &job, 1, &jct_s);
    assert_true(fabs(3 * seen.carried_s - 4) < 1e-6);
    assert_true(fabs(3 * seen.awaited_s - 4) < 1e-6);
    assert_true(fabs(3 * seen.nothing_s - (2 * 3 + 4)) < 1e-6);
    assert_true(seen.held_s == 0);
    workload_job_done(&job);
}

static void test_every_policy_ends_every_job_and_repeats_itself(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int round = 0; round < 20; round++) {
        struct workload_job jobs[JOBS];
        double first_s[JOBS], second_s[JOBS];
        size_t n = random_jobs(jobs, &seed);
        for (const struct preset *p = presets; p->name; p++) {
            struct run_config config = config_of(p->name, (uint32_t)(1 + test_random(&seed) % 6),
                                                 (uint32_t)(1 + test_random(&seed) % 3), 8 * UNIT);
            struct run_result result = simulate(&config, jobs, n, first_s);
            check_physics(&config, jobs, n, &result);
            simulate(&config, jobs, n, second_s);
            assert_memory_equal(first_s, second_s, n * sizeof(*first_s));
        }
        for (size_t i = 0; i < n; i++)
            workload_job_done(&jobs[i]);
    }
}

/* A simulated run's log is a log: it is decided again, equally, to its end. */
static void test_a_run_leaves_a_log_that_replays(void **state)
{
    (void)state;
    struct err err = {0};
    struct recording_replay_result again;
    double jct_s[1];
    struct run_config config = config_of("duopoly", 3, 2, 8 * UNIT);
    struct workload_job job =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":4,\"compute_ms\":100},"
               "{\"tasks\":8,\"parents\":[{\"stage\":0,\"sums\":[5,6,7,8,9,10,11,12]}]}]}");
    config.recording = tmpfile();
    struct run_result result = simulate(&config, &job, 1, jct_s);
    rewind(config.recording);
    if (recording_replay(config.recording, NULL, &again, &err))
        fail_msg("%s", err.text);
    assert_int_equal(again.first_difference_line, 0);
    assert_int_equal(again.steps, result.steps);
    assert_true(again.decisions >= 12);
    fclose(config.recording);
    workload_job_done(&job);
}

static void test_unlimited_levels_are_the_order_of_sizes(void **state)
{
    (void)state;
    struct ranks ranks = {0};
    struct workload_job job =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":1,\"input_bytes\":1000},{\"tasks\":2,"
               "\"parents\":[{\"stage\":0,\"sums\":[70,60]}]}]}");
    assert_int_equal(ranks_level(&ranks, 5), 5);
    assert_int_equal(ranks_make(&ranks, &job, 1, NULL), 0);
    const uint64_t sizes[] = {0, 60, 70, 130, 1000};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(ranks_level(&ranks, sizes[i]), i);
    assert_int_equal(ranks.n, 5);
    ranks_done(&ranks);
    workload_job_done(&job);
}

static void test_unlimited_levels_end_every_job(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int round = 0; round < 20; round++) {
        struct workload_job jobs[JOBS];
        double jct_s[JOBS];
        size_t n = random_jobs(jobs, &seed);
        struct run_config config = config_of("duopoly", (uint32_t)(1 + test_random(&seed) % 6),
                                             (uint32_t)(1 + test_random(&seed) % 3), 8 * UNIT);
        config.engine.coflow.levels = config.engine.macroflow.levels = 0;
        struct run_result result = simulate(&config, jobs, n, jct_s);
        check_physics(&config, jobs, n, &result);
        for (size_t i = 0; i < n; i++)
            workload_job_done(&jobs[i]);
    }
}

static void test_policies_are_known_to_the_engine(void **state)
{
    (void)state;
    for (const struct preset *p = presets; p->name; p++) {
        struct engine_config config;
        struct engine *engine = NULL;
        engine_config_default(&config);
        preset_apply(p, &config);
        assert_int_equal(engine_create(&config, &engine, NULL), 0);
        engine_destroy(engine);
        assert_ptr_equal(preset_find(p->name), p);
        assert_true(*p->what);
    }
    assert_null(preset_find("best"));
}

static void test_refuses_what_it_cannot_simulate(void **state)
{
    (void)state;
    struct err err = {0};
    double jct_s[1];
    struct run_result result = {.jct_s = jct_s};
    struct run_config config = config_of("duopoly", 2, 1, 8 * UNIT);
    struct workload_job job =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":1,\"demand\":{\"slots\":7}}]}");
    assert_int_equal(run_simulate(&config, &job, 1, &result, &err), -EINVAL);
    assert_string_equal(err.text,
                        "the engine refuses job 1: no known host could ever run a task of "
                        "stage 0: it needs slots 7 in one unit; the most that a unit has "
                        "is slots 1");
    workload_job_done(&job);
    job = job_of("{\"id\":1,\"arrival_ms\":9000000000,\"stages\":[{\"tasks\":1,\"compute_ms\":"
                 "8000000}]}");
    assert_int_equal(run_simulate(&config, &job, 1, &result, &err), -EINVAL);
    assert_non_null(strstr(err.text, "104 days"));
    workload_job_done(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example_2),
        cmocka_unit_test(test_a_parameter_changes_while_jobs_run),
        cmocka_unit_test(test_a_map_off_its_block_fetches_it_first),
        cmocka_unit_test(test_headers_take_their_part_of_every_link),
        cmocka_unit_test(test_links_have_rates_of_their_own),
        cmocka_unit_test(test_the_links_time_is_told_in_parts),
        cmocka_unit_test(test_every_policy_ends_every_job_and_repeats_itself),
        cmocka_unit_test(test_a_run_leaves_a_log_that_replays),
        cmocka_unit_test(test_unlimited_levels_are_the_order_of_sizes),
        cmocka_unit_test(test_unlimited_levels_end_every_job),
        cmocka_unit_test(test_policies_are_known_to_the_engine),
        cmocka_unit_test(test_refuses_what_it_cannot_simulate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
