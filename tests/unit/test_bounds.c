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
    expect_all(&config, &job, 1, (struct bounds){3.5, 3.5, 3.5, 3.5, 3.5});
}

/* Of 5 bytes 4 go to one task: 2.5 s of both links, 4 of its own. Slots: 2 · 1 + 4 + 1 over 2. */
static void test_a_large_reducer(void **state)
{
    (void)state;
    struct workload_job job =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":2,\"compute_ms\":1000},{\"tasks\":2,"
               "\"parents\":[{\"stage\":0,\"sums\":[4000000,1000000]}]}]}");
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    expect_all(&config, &job, 1, (struct bounds){5, 3.5, 5, 3.5, 5});
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
    expect_all(&config, jobs, 2, (struct bounds){2.5, 2.5, 2.5, 2.5, 2.5});
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
    expect_all(&config, jobs, 3, (struct bounds){18 / 3., 22.5 / 3, 22.5 / 3, 25 / 3., 25 / 3.});
}

/* A pipelined task receives and computes at once: 3 s, and ends with its parent at the earliest. */
static void test_pipelined(void **state)
{
    (void)state;
    struct workload_job job = job_of(
        "{\"id\":1,\"stages\":[{\"tasks\":1,\"compute_ms\":5000},{\"tasks\":1,\"compute_ms\":"
        "3000,\"parents\":[{\"stage\":0,\"edge\":\"pipelined\",\"sums\":[2000000]}]}]}");
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    expect_all(&config, &job, 1, (struct bounds){5, 1, 5, 4, 5});
}

/* Own rates: uplinks 4 + 8, downlinks 16 + 8 Mbit/s: 12 together, the fastest downlink 2 bytes/s. */
static void test_links_of_their_own(void **state)
{
    (void)state;
    struct workload_job job = job_of(
        "{\"id\":1,\"stages\":[{\"tasks\":1},{\"tasks\":2,\"parents\":[{\"stage\":0,\"sums\":"
        "[3000000,3000000]}]}]}");
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    config.own_links = "h0.up=4Mbps,h0.down=16Mbps";
    expect_all(&config, &job, 1, (struct bounds){4, 4, 4, 1.5, 4});
}

/* ---- no policy is below ---- */

static int put_sums(char *line, uint32_t n, uint64_t *seed)
{
    int at = 0;
    for (uint32_t t = 0; t < n; t++)
        at += sprintf(line + at, "%s%u", t ? "," : "",
                      (uint32_t)(test_random(seed) % 3 ? test_random(seed) % (3 * UNIT) : 1));
    return at;
}

/* Chains of up to four stages, with barriers or pipelined. */
static struct workload_job random_job(size_t number, uint64_t arrival_ms, uint64_t *seed)
{
    char line[4096];
    uint32_t stages = 1 + (uint32_t)(test_random(seed) % 4);
    int at = sprintf(line, "{\"id\":%zu,\"arrival_ms\":%u,\"stages\":[", number + 1,
                     (uint32_t)arrival_ms);
    for (uint32_t s = 0; s < stages; s++) {
        uint32_t tasks = 1 + (uint32_t)(test_random(seed) % 6);
        at += sprintf(line + at, "%s{\"tasks\":%u,\"compute_ms\":%u", s ? "," : "", tasks,
                      (uint32_t)(test_random(seed) % 1500));
        if (s) {
            at += sprintf(line + at, ",\"parents\":[{\"stage\":%u,\"edge\":\"%s\",\"sums\":[",
                          s - 1, test_random(seed) % 4 ? "barrier" : "pipelined");
            at += put_sums(line + at, tasks, seed);
            at += sprintf(line + at, "]}]");
        }
        at += sprintf(line + at, "}");
    }
    sprintf(line + at, "]}");
    return job_of(line);
}

static void check_policies(const struct workload_job *jobs, size_t n, uint64_t *seed,
                           double *closest)
{
    double jct_s[JOBS];
    uint32_t hosts = 6 + (uint32_t)(test_random(seed) % 3),
             slots = 1 + (uint32_t)(test_random(seed) % 3);
    for (const struct preset *p = presets; p->name; p++) {
        struct run_config config = config_of(p->name, hosts, slots, 8 * UNIT);
        config.local_free = false;
        config.own_links = test_random(seed) % 3 ? NULL : "h0=1Mbps,h1.down=80Mbps,h2.up=4Mbps";
        double bound_s = bounds(&config, jobs, n).largest_s, mean_s = 0;
        simulate(&config, jobs, n, jct_s);
        for (size_t i = 0; i < n; i++)
            mean_s += jct_s[i] / (double)n;
        if (mean_s < bound_s - 1e-6)
            fail_msg("%s: a mean of %.9f s is below the bound, %.9f s", p->name, mean_s, bound_s);
        *closest = fmax(*closest, mean_s > 0 ? bound_s / mean_s : 0);
    }
}

static void test_no_policy_is_below(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    double closest = 0;
    for (int round = 0; round < 60; round++) {
        struct workload_job jobs[JOBS];
        size_t n = 1 + test_random(&seed) % JOBS;
        uint64_t arrival_ms = 0, spread_ms = 1 + test_random(&seed) % 3000;
        for (size_t i = 0; i < n; i++) {
            jobs[i] = random_job(i, arrival_ms, &seed);
            arrival_ms += test_random(&seed) % spread_ms;
        }
        check_policies(jobs, n, &seed, &closest);
        for (size_t i = 0; i < n; i++)
            workload_job_done(&jobs[i]);
    }
    assert_true(closest > .9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_job_that_fills_its_cluster),
        cmocka_unit_test(test_a_large_reducer),
        cmocka_unit_test(test_the_least_remaining_goes_first),
        cmocka_unit_test(test_some_alone_some_pooled),
        cmocka_unit_test(test_pipelined),
        cmocka_unit_test(test_links_of_their_own),
        cmocka_unit_test(test_no_policy_is_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
