/* Lower bounds of the mean: cases worked out by hand, and no policy is below them. */
#include "tests/unit/run_cases.h"

#include "testbed/sim/bounds.h"

#include <math.h>

enum { JOBS = 12 };

static struct bounds bounds(const struct run_config *config, const struct workload_job *jobs,
                            size_t n)
{
    struct bounds b;
    struct err err = {0};
    if (bounds_of(config, jobs, n, &b, &err))
        fail_msg("%s", err.text);
    return b;
}

static void expect(const char *what, double is, double wanted)
{
    if (fabs(is - wanted) > 1e-9)
        fail_msg("%s: %.9f, not %.9f", what, is, wanted);
}

static void expect_all(const struct run_config *config, struct workload_job *jobs, size_t n,
                       struct bounds wanted)
{
    struct bounds b = bounds(config, jobs, n);
    expect("alone", b.alone_s, wanted.alone_s);
    expect("links", b.links_s, wanted.links_s);
    expect("mixed", b.mixed_s, wanted.mixed_s);
    expect("slots", b.slots_s, wanted.slots_s);
    expect("largest", b.largest_s, wanted.largest_s);
    assert_true(b.proven == wanted.proven);
    for (size_t i = 0; i < n; i++)
        workload_job_done(&jobs[i]);
}

/* Maps of a second on both hosts, two transfers of 2 s, half a second of computing: nothing waits
 * for anything, so all bounds but that of slots see all of it, and a run takes as long. */
static void test_one_job_that_fills_its_cluster(void **state)
{
    (void)state;
    double jct_s;
    struct workload_job job =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":2,\"compute_ms\":1000},{\"tasks\":2,"
               "\"compute_ms\":500,\"parents\":[{\"stage\":0,\"sums\":[2000000,2000000]}]}]}");
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    config.local_free = false;
    simulate(&config, &job, 1, &jct_s);
    assert_true(fabs(jct_s - 3.5) < 1e-6);
    expect_all(&config, &job, 1, (struct bounds){3.5, 3.5, 3.5, 3.5, 3.5, true});
}

/* Of 5 bytes 4 go to one task: 2.5 s of both links, 4 of its own. Slots: 2 · 1 + 4 + 1 over 2. */
static void test_a_large_reducer(void **state)
{
    (void)state;
    struct workload_job job =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":2,\"compute_ms\":1000},{\"tasks\":2,"
               "\"parents\":[{\"stage\":0,\"sums\":[4000000,1000000]}]}]}");
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    expect_all(&config, &job, 1, (struct bounds){5, 3.5, 5, 3.5, 5, false});
}

/* The first job's 6 bytes are released at 0 and take both links 3 s; the other's 2 at 1 and go
 * first until 2: 4 and 1 s. Alone: 3 and 2, since it has one reducer. Leaving that one alone: 3
 * and 2. Slots: (6 + 2) ÷ 2 in the same order. */
static void test_the_least_remaining_goes_first(void **state)
{
    (void)state;
    struct workload_job jobs[] = {
        job_of(
            "{\"id\":1,\"stages\":[{\"tasks\":1},{\"tasks\":2,\"parents\":[{\"stage\":0,\"sums\":"
            "[3000000,3000000]}]}]}"),
        job_of("{\"id\":2,\"arrival_ms\":1000,\"stages\":[{\"tasks\":1},{\"tasks\":1,\"parents\":[{"
               "\"stage\":0,\"sums\":[2000000]}]}]}")};
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    expect_all(&config, jobs, 2, (struct bounds){2.5, 2.5, 2.5, 2.5, 2.5, false});
}

/* Two jobs at once: 8 bytes to two tasks (4 s of both links and alone), 1 byte to one task (half a
 * second of both, a second alone). Links: .5 and 4.5; the small one alone: 1 and 4. With its own
 * slow computing of 9 s as well: links 9.5 and 4.5, alone 10 and 4; slots: (8 + 10) ÷ 2 s. */
static void test_some_alone_some_pooled(void **state)
{
    (void)state;
    struct workload_job jobs[] = {
        job_of(
            "{\"id\":1,\"stages\":[{\"tasks\":1},{\"tasks\":2,\"parents\":[{\"stage\":0,\"sums\":"
            "[4000000,4000000]}]}]}"),
        job_of("{\"id\":2,\"stages\":[{\"tasks\":1},{\"tasks\":1,\"compute_ms\":9000,\"parents\":[{"
               "\"stage\":0,\"sums\":[1000000]}]}]}"),
        job_of(
            "{\"id\":3,\"stages\":[{\"tasks\":1},{\"tasks\":2,\"parents\":[{\"stage\":0,\"sums\":"
            "[4000000,4000000]}]}]}")};
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    /* links: 9.5 + 4.5 + 8.5; with the second alone: 10 + 4 + 8; slots: 4 + 8 + 13 */
    expect_all(&config, jobs, 3,
               (struct bounds){18 / 3., 22.5 / 3, 22.5 / 3, 25 / 3., 25 / 3., false});
}

/* A pipelined task receives and computes at once: 3 s, and ends with its parent at the earliest. */
static void test_pipelined(void **state)
{
    (void)state;
    struct workload_job job = job_of(
        "{\"id\":1,\"stages\":[{\"tasks\":1,\"compute_ms\":5000},{\"tasks\":1,\"compute_ms\":"
        "3000,\"parents\":[{\"stage\":0,\"edge\":\"pipelined\",\"sums\":[2000000]}]}]}");
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    expect_all(&config, &job, 1, (struct bounds){5, 1, 5, 4, 5, false});
}

/* Of a pipelined edge's byte, the first of two maps sends it: the stage that reads it need not wait
 * for the other map of 9 s, nor does the stage after it. The job does. */
static void test_a_pipelined_stage_waits_for_no_map_that_sends_nothing(void **state)
{
    (void)state;
    struct workload_job job =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":2,\"compute_ms\":[1000,9000]},"
               "{\"tasks\":1,\"parents\":[{\"stage\":0,\"edge\":\"pipelined\",\"sums\":[1]}]},"
               "{\"tasks\":1,\"compute_ms\":5000,\"parents\":[{\"stage\":1}]}]}");
    struct run_config config = config_of("fair", 2, 2, 8 * UNIT);
    double jct_s;
    config.local_free = false;
    simulate(&config, &job, 1, &jct_s);
    assert_true(fabs(jct_s - 9) < 1e-5);
    expect("alone", bounds(&config, &job, 1).alone_s, 9);
    workload_job_done(&job);
}

/* Own rates: uplinks 4 + 8, downlinks 16 + 8 Mbit/s: 12 together, the fastest downlink 2
 * bytes/s. */
static void test_links_of_their_own(void **state)
{
    (void)state;
    struct workload_job job = job_of(
        "{\"id\":1,\"stages\":[{\"tasks\":1},{\"tasks\":2,\"parents\":[{\"stage\":0,\"sums\":"
        "[3000000,3000000]}]}]}");
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    config.own_links = "h0.up=4Mbps,h0.down=16Mbps";
    expect_all(&config, &job, 1, (struct bounds){4, 4, 4, 1.5, 4, false});
}

/* ---- no policy is below ---- */

static int put_numbers(char *line, const char *name, uint32_t n, uint32_t below, uint64_t *seed)
{
    int at = sprintf(line, ",\"%s\":[", name);
    for (uint32_t t = 0; t < n; t++)
        at += sprintf(line + at, "%s%u", t ? "," : "",
                      test_random(seed) % 3 ? (uint32_t)(test_random(seed) % below)
                                            : (uint32_t)(test_random(seed) % 2));
    return at + sprintf(line + at, "]");
}

static int put_matrix(char *line, uint32_t rows, uint32_t columns, uint64_t *seed)
{
    int at = sprintf(line, ",\"matrix\":[");
    for (uint32_t r = 0; r < rows; r++) {
        at += sprintf(line + at, "%s[", r ? "," : "");
        for (uint32_t c = 0; c < columns; c++)
            at += sprintf(line + at, "%s%u", c ? "," : "",
                          test_random(seed) % 2 ? (uint32_t)(test_random(seed) % UNIT) : 0);
        at += sprintf(line + at, "]");
    }
    return at + sprintf(line + at, "]");
}

/* Up to two edges from stages before it, with bytes, with a few, or with none. */
static int put_parents(char *line, uint32_t stage, const uint32_t *tasks, bool pipelines,
                       uint64_t *seed)
{
    uint32_t first = (uint32_t)(test_random(seed) % stage);
    int at = sprintf(line, ",\"parents\":[");
    for (uint32_t p = first; p < stage && p < first + 2; p++) {
        at += sprintf(line + at, "%s{\"stage\":%u,\"edge\":\"%s\"", p > first ? "," : "", p,
                      pipelines && test_random(seed) % 3 == 0 ? "pipelined" : "barrier");
        if (test_random(seed) % 4 == 0)
            at += put_matrix(line + at, tasks[p], tasks[stage], seed);
        else if (test_random(seed) % 5)
            at += put_numbers(line + at, "sums", tasks[stage], 3 * UNIT, seed);
        at += sprintf(line + at, "}");
    }
    return at + sprintf(line + at, "]");
}

/* Up to four stages of up to six tasks, some of which read blocks and take two slots. */
static struct workload_job random_job(size_t number, uint64_t arrival_ms, bool pipelines,
                                      uint64_t *seed)
{
    char line[16384];
    uint32_t stages = 1 + (uint32_t)(test_random(seed) % 4), tasks[4];
    int at = sprintf(line, "{\"id\":%zu,\"arrival_ms\":%u,\"stages\":[", number + 1,
                     (uint32_t)arrival_ms);
    for (uint32_t s = 0; s < stages; s++) {
        tasks[s] = 1 + (uint32_t)(test_random(seed) % 6);
        at += sprintf(line + at, "%s{\"tasks\":%u", s ? "," : "", tasks[s]);
        at += put_numbers(line + at, "compute_ms", tasks[s], 1500, seed);
        if (test_random(seed) % 4 == 0)
            at += sprintf(line + at, ",\"demand\":{\"slots\":2}");
        if (s && test_random(seed) % 8)
            at += put_parents(line + at, s, tasks, pipelines, seed);
        at += sprintf(line + at, "}");
    }
    sprintf(line + at, "]}");
    return job_of(line);
}

static bool one_in(uint32_t n, uint64_t *seed)
{
    return test_random(seed) % n == 0;
}

/* What a framework's jobs are simulated without. */
static void put_troubles(struct run_config *c, uint64_t *seed)
{
    if (one_in(3, seed))
        c->report_delay_ns = (int64_t)(test_random(seed) % 2000000000);
    if (one_in(3, seed))
        c->decision_delay_ns = (int64_t)(test_random(seed) % 2000000000);
    if (one_in(3, seed)) {
        c->faults.mtbf_s = 20;
        c->faults.repair_s = 2;
    }
    if (one_in(3, seed))
        c->copy_after = 1 + (double)(test_random(seed) % 10) / 10;
}

/* Everything that changes how long jobs take. */
static struct run_config random_config(const char *policy, uint32_t hosts, uint32_t slots,
                                       bool framework, uint64_t *seed)
{
    static const uint64_t rates_bps[] = {8 * UNIT, 8 * UNIT, 800 * UNIT, 8000000000000};
    struct run_config c = config_of(policy, hosts, slots, rates_bps[test_random(seed) % 4]);
    c.local_free = false;
    c.own_links = one_in(3, seed) ? "h0=1Mbps,h1.down=80Mbps,h2.up=4Mbps" : NULL;
    c.headers = one_in(3, seed) ? .1 : 0;
    if (one_in(3, seed))
        c.foreign = (struct run_foreign){.5, .4, one_in(2, seed), true};
    if (one_in(3, seed)) {
        c.racks = hosts % 3 ? 2 : 3;
        c.spines = (uint32_t)(test_random(seed) % 3);
        c.oversubscription = 4;
    }
    c.faults.seed = c.engine.seed = test_random(seed);
    c.faults.slow_share = one_in(3, seed) ? .2 : 0;
    c.faults.slow_times = 5;
    if (framework) {
        c.framework = &manners[test_random(seed) % 7];
        c.engine.framework_jobs_max = c.engine.jobs_max;
    } else {
        put_troubles(&c, seed);
    }
    return c;
}

/* The factors on each job's sizes that the engine is told. */
static const double *random_told(double *told, size_t n, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++)
        told[i] = exp2((double)(test_random(seed) % 21) - 10);
    return one_in(3, seed) ? told : NULL;
}

static void check_policies(const struct workload_job *jobs, size_t n, bool framework,
                           uint64_t *seed, double *closest)
{
    double jct_s[JOBS], told[JOBS];
    uint32_t hosts = 6 + 2 * (uint32_t)(test_random(seed) % 2),
             slots = 2 + (uint32_t)(test_random(seed) % 3);
    for (const struct preset *p = presets; p->name; p++) {
        struct run_config config = random_config(p->name, hosts, slots, framework, seed);
        config.told = random_told(told, n, seed);
        struct bounds b = bounds(&config, jobs, n);
        double mean_s = 0;
        simulate(&config, jobs, n, jct_s);
        for (size_t i = 0; i < n; i++)
            mean_s += jct_s[i] / (double)n;
        assert_true(b.proven);
        if (mean_s < b.largest_s - 1e-8)
            fail_msg("%s%s%s: a mean of %.9f s is below the bound, %.9f s", p->name,
                     config.framework ? " and a framework that is " : "",
                     config.framework ? config.framework->name : "", mean_s, b.largest_s);
        *closest = fmax(*closest, mean_s > 0 ? b.largest_s / mean_s : 0);
    }
}

static void test_no_policy_is_below(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    double closest = 0;
    for (int round = 0; round < 100; round++) {
        struct workload_job jobs[JOBS];
        size_t n = 1 + test_random(&seed) % JOBS;
        uint64_t arrival_ms = 0, spread_ms = 1 + test_random(&seed) % 3000;
        bool framework = one_in(4, &seed); /* frameworks' stages have barriers */
        for (size_t i = 0; i < n; i++) {
            jobs[i] = random_job(i, arrival_ms, !framework, &seed);
            arrival_ms += test_random(&seed) % spread_ms;
        }
        check_policies(jobs, n, framework, &seed, &closest);
        for (size_t i = 0; i < n; i++)
            workload_job_done(&jobs[i]);
    }
    assert_true(closest > .9);
}

/* One host takes map and reduce: where bytes that stay are free, nothing of the transfer's 2 s is
 * seen, so what is no bound is not called one. */
static void test_none_is_proven_where_local_bytes_are_free(void **state)
{
    (void)state;
    double jct_s;
    struct workload_job job = job_of(
        "{\"id\":1,\"stages\":[{\"tasks\":1,\"compute_ms\":1000},{\"tasks\":1,\"compute_ms\":500,"
        "\"parents\":[{\"stage\":0,\"sums\":[2000000]}]}]}");
    struct run_config config = config_of("fair", 1, 1, 8 * UNIT);
    simulate(&config, &job, 1, &jct_s);
    struct bounds b = bounds(&config, &job, 1);
    assert_true(fabs(jct_s - 1.5) < 1e-6 && fabs(b.largest_s - 3.5) < 1e-6);
    assert_false(b.proven);
    workload_job_done(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_job_that_fills_its_cluster),
        cmocka_unit_test(test_a_large_reducer),
        cmocka_unit_test(test_the_least_remaining_goes_first),
        cmocka_unit_test(test_some_alone_some_pooled),
        cmocka_unit_test(test_pipelined),
        cmocka_unit_test(test_a_pipelined_stage_waits_for_no_map_that_sends_nothing),
        cmocka_unit_test(test_links_of_their_own),
        cmocka_unit_test(test_no_policy_is_below),
        cmocka_unit_test(test_none_is_proven_where_local_bytes_are_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
