/* Simulated runs of stages that list several ways to run them: how long each takes, how much of the
 * devices is used, and that every policy ends every job and decides the same again. */
#include "tests/unit/run_cases.h"

#include "testbed/sim/cluster/recording_replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Two hosts of two slots and a GPU, two of two slots. */
static struct cluster_class classes[2];
static struct cluster_host hosts[4];
static struct cluster cluster = {classes, hosts, 2, 4};

static void make_cluster(void)
{
    for (uint32_t c = 0; c < 2; c++) {
        classes[c].n_units = 1;
        classes[c].units[0].slots = 2;
        classes[c].units[0].gpu_milli = c ? 0 : 1000;
    }
    for (uint32_t h = 0; h < 4; h++) {
        snprintf(hosts[h].name, sizeof(hosts[h].name), "h%u", h);
        hosts[h].class = &classes[h / 2];
    }
}

static struct run_config unlike(const char *policy)
{
    struct run_config config = config_of(policy, 4, 2, 8 * UNIT);
    make_cluster();
    config.cluster = &cluster;
    return config;
}

static struct workload_job on_gpu_or_slot(uint32_t tasks)
{
    char line[256];
    snprintf(line, sizeof(line),
             "{\"id\":1,\"stages\":[{\"tasks\":%u,\"compute_ms\":1000,\"demand\":{\"slots\":1,"
             "\"gpu_milli\":1000},\"variants\":[{\"demand\":{\"slots\":1},\"compute_ms\":4000}]}]}",
             tasks);
    return job_of(line);
}

static void expect(double got, double want)
{
    if (fabs(got - want) > 1e-6)
        fail_msg("%.9f, not %.9f", got, want);
}

/* Of two tasks both have a GPU for 1 s; of four two are in slots for 4 s. */
static void test_each_way_takes_its_time(void **state)
{
    (void)state;
    static const char *const policies[] = {"fair", "fifo", "drf", "duopoly", "joint", "neat"};
    double jct_s[1];
    for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
        const struct run_config config = unlike(policies[p]);
        struct workload_job two = on_gpu_or_slot(2), four = on_gpu_or_slot(4);
        struct run_result result = simulate(&config, &two, 1, jct_s);
        expect(jct_s[0], 1);
        expect(result.device_use, 1);
        result = simulate(&config, &four, 1, jct_s);
        expect(jct_s[0], 4);
        expect(result.device_use, .25);
        workload_job_done(&two);
        workload_job_done(&four);
    }
}

/* Maps in either way, reduce tasks in slots or, those of every third job, with a GPU as well. */
static struct workload_job some_job(uint64_t *stream, uint64_t id)
{
    char line[1024];
    uint32_t n = (uint32_t)snprintf(
        line, sizeof(line),
        "{\"id\":%llu,\"arrival_ms\":%llu,\"stages\":[{\"tasks\":4,\"input_bytes\":%llu,"
        "\"replicas\":[[0,1],[1,2],[2,3],[3,0]],\"compute_ms\":%llu,\"demand\":{\"slots\":1,"
        "\"gpu_milli\":%llu},\"variants\":[{\"demand\":{\"slots\":1},\"compute_ms\":900}]},"
        "{\"tasks\":2,\"compute_ms\":100,\"parents\":[{\"stage\":0,\"sums\":[%llu,%llu]}]",
        (unsigned long long)id, (unsigned long long)(id * 150),
        (unsigned long long)(test_random(stream) % UNIT),
        (unsigned long long)(test_random(stream) % 500),
        (unsigned long long)(100 + test_random(stream) % 900),
        (unsigned long long)(test_random(stream) % (4 * UNIT)),
        (unsigned long long)(test_random(stream) % UNIT));
    snprintf(line + n, sizeof(line) - n, "%s}]}",
             id % 3 ? ""
                    : ",\"variants\":[{\"demand\":{\"slots\":2,\"gpu_milli\":100},"
                      "\"compute_ms\":10}]");
    return job_of(line);
}

static void check_policy(const char *policy, const struct workload_job *jobs, size_t n)
{
    struct err err = {0};
    struct recording_replay_result again;
    double jct_s[16], jct_again_s[16];
    struct run_config config = unlike(policy);
    config.recording = tmpfile();
    const struct run_result result = simulate(&config, jobs, n, jct_s);
    rewind(config.recording);
    if (recording_replay(config.recording, NULL, &again, &err))
        fail_msg("%s", err.text);
    assert_int_equal(again.first_difference_line, 0);
    assert_int_equal(again.steps, result.steps);
    fclose(config.recording);
    config.recording = NULL;
    simulate(&config, jobs, n, jct_again_s);
    for (size_t i = 0; i < n; i++) {
        assert_true(jct_s[i] > 0);
        expect(jct_again_s[i], jct_s[i]);
    }
    assert_true(result.device_use > 0 && result.device_use <= 1);
}

static void test_every_policy_ends_every_job(void **state)
{
    (void)state;
    enum { JOBS = 12 };
    struct workload_job jobs[JOBS];
    uint64_t stream = test_seed();
    for (uint64_t i = 0; i < JOBS; i++)
        jobs[i] = some_job(&stream, i + 1);
    for (const struct preset *p = presets; p->name; p++)
        check_policy(p->name, jobs, JOBS);
    for (size_t i = 0; i < JOBS; i++)
        workload_job_done(&jobs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_way_takes_its_time),
        cmocka_unit_test(test_every_policy_ends_every_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
