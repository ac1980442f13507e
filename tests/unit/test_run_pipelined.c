/* Pipelined edges under virtual time: cases computed by hand. */
#include "tests/unit/run_cases.h"

#include <math.h>
#include <stdio.h>

static double jct_of(const char *line, uint32_t hosts, uint32_t slots)
{
    double jct_s[1];
    struct workload_job job = job_of(line);
    struct run_config config = config_of("fair", hosts, slots, 8 * UNIT);
    simulate(&config, &job, 1, jct_s);
    workload_job_done(&job);
    return jct_s[0];
}

static void expect(const char *line, uint32_t hosts, uint32_t slots, double jct_s)
{
    double took_s = jct_of(line, hosts, slots);
    if (fabs(took_s - jct_s) > 1e-5)
        fail_msg("%s: %.9f s, not %.9f", line, took_s, jct_s);
}

/* Maps of 1 and 3 s on two hosts, 10⁶ bytes from each to a reduce on the third. They arrive from 1
 * to 2 and from 3 to 4. */
static void test_computing_follows_what_has_arrived(void **state)
{
    (void)state;
    static const struct {
        const char *edge;
        unsigned compute_ms;
        double jct_s;
    } cases[] = {
        {"pipelined", 0, 4},    /* the last byte */
        {"pipelined", 1000, 4}, /* half done at 2.5, waits until 3, follows the bytes */
        {"pipelined", 4000, 5}, /* never waits after 1 */
        {"pipelined", 6000, 7},
        {"barrier", 1000, 5}, /* 3 + 1 + 1: one half is on the reduce's own host */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char line[512];
        snprintf(line, sizeof(line),
                 "{\"id\":1,\"stages\":[{\"tasks\":2,\"compute_ms\":[1000,3000]},{\"tasks\":1,"
                 "\"compute_ms\":%u,\"parents\":[{\"stage\":0,\"edge\":\"%s\",\"sums\":[2000000]}]"
                 "}]}",
                 cases[i].compute_ms, cases[i].edge);
        expect(line, 3, 1, cases[i].jct_s);
    }
}

/* One steady transfer of 2 s: after the last byte max(0, computing − receiving) is left. */
static void test_the_sources_rule_for_one_transfer(void **state)
{
    (void)state;
    for (unsigned compute_ms = 0; compute_ms <= 5000; compute_ms += 500) {
        char line[512];
        snprintf(line, sizeof(line),
                 "{\"id\":1,\"stages\":[{\"tasks\":1},{\"tasks\":1,\"compute_ms\":%u,\"parents\":"
                 "[{\"stage\":0,\"edge\":\"pipelined\",\"sums\":[2000000]}]}]}",
                 compute_ms);
        double took_s = jct_of(line, 2, 1), here_s = compute_ms * 1e-3;
        /* Whoever gets the reduce, its bytes are here or 2 s away. */
        assert_true(fabs(took_s - here_s) < 1e-5 || fabs(took_s - fmax(2, here_s)) < 1e-5);
    }
}

static void test_a_local_output_is_there_at_once(void **state)
{
    (void)state;
    expect("{\"id\":1,\"stages\":[{\"tasks\":1,\"compute_ms\":2000},{\"tasks\":1,\"compute_ms\":"
           "1000,\"parents\":[{\"stage\":0,\"edge\":\"pipelined\",\"sums\":[1000000]}]}]}",
           1, 2, 3);
}

/* A chain: each stage holds its slots while the one before it computes. */
static void test_stages_overlap_along_a_chain(void **state)
{
    (void)state;
    expect("{\"id\":1,\"stages\":[{\"tasks\":1,\"compute_ms\":1000},"
           "{\"tasks\":1,\"compute_ms\":1000,\"parents\":[{\"stage\":0,\"edge\":\"pipelined\","
           "\"sums\":[1000000]}]},"
           "{\"tasks\":1,\"compute_ms\":1000,\"parents\":[{\"stage\":1,\"edge\":\"pipelined\","
           "\"sums\":[1000000]}]}]}",
           3, 1, 3); /* from 1 on moving and computing at once, a second per stage */
}

/* With too few slots for both stages it still ends: the reduce waits for the last map to start. */
static void test_ends_on_one_slot(void **state)
{
    (void)state;
    expect("{\"id\":1,\"stages\":[{\"tasks\":3,\"compute_ms\":1000},{\"tasks\":2,\"compute_ms\":"
           "500,\"parents\":[{\"stage\":0,\"edge\":\"pipelined\",\"sums\":[1000,1000]}]}]}",
           1, 1, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_computing_follows_what_has_arrived),
        cmocka_unit_test(test_the_sources_rule_for_one_transfer),
        cmocka_unit_test(test_a_local_output_is_there_at_once),
        cmocka_unit_test(test_stages_overlap_along_a_chain),
        cmocka_unit_test(test_ends_on_one_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
