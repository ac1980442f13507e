/* Simulated runs on hosts with disks: how long reading takes, alone and beside others, what the
 * engine learns of it, and that a host without a disk knows of none. */
#include "tests/unit/run_cases.h"

#include "testbed/sim/cluster/recording_replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Hosts of four slots. */
enum { HOSTS = 2 };
static struct cluster_class class;
static struct cluster_host hosts[HOSTS];
static struct cluster cluster = {&class, hosts, 1, HOSTS};

static struct run_config with_disk(const char *policy, int64_t disk_bytes_s)
{
    struct run_config config = config_of(policy, HOSTS, 4, 8 * UNIT);
    class = (struct cluster_class){.n_units = 1, .disk_bytes_s = disk_bytes_s};
    class.units[0].slots = 4;
    for (uint32_t h = 0; h < HOSTS; h++) {
        snprintf(hosts[h].name, sizeof(hosts[h].name), "h%u", h);
        hosts[h].class = &class;
    }
    config.cluster = &cluster;
    return config;
}

static double time_of(const struct run_config *config, const char *line)
{
    double jct_s[1];
    struct workload_job job = job_of(line);
    simulate(config, &job, 1, jct_s);
    workload_job_done(&job);
    return jct_s[0];
}

static void expect(double got, double want)
{
    if (fabs(got - want) > 1e-6)
        fail_msg("%.9f, not %.9f", got, want);
}

#define TASKS(n, more)                                                                             \
    "{\"id\":1,\"stages\":[{\"tasks\":" #n ",\"constraint\":\"host=h0\",\"compute_ms\":1000" more  \
    "}]}"
#define BEFORE(rate)                                                                               \
    ",\"profile\":{\"read_bytes\":2000000,\"read_bytes_s\":" rate ",\"reads\":\"before\"}"
#define WHILE ",\"profile\":{\"read_bytes\":400000,\"read_bytes_s\":1000000}"

static void test_tasks_read_before_they_compute(void **state)
{
    (void)state;
    struct run_config config = with_disk("fifo", UNIT);
    expect(time_of(&config, TASKS(1, BEFORE("1000000"))), 3);
    expect(time_of(&config, TASKS(1, BEFORE("500000"))), 5);
    expect(time_of(&config, TASKS(2, BEFORE("500000"))), 5); /* each at its own rate */
    expect(time_of(&config, TASKS(4, BEFORE("1000000"))), 9);
    expect(time_of(&config, TASKS(4, BEFORE("500000"))), 9);
    class.disk_loss = 200; /* ÷ 1.6 */
    expect(time_of(&config, TASKS(4, BEFORE("1000000"))), 13.8);
}

/* Reading is a part of its computing. Tasks that begin together read together: 8 turns of 4 × .05 s
 * and .075 s. */
static void test_tasks_read_while_they_compute(void **state)
{
    (void)state;
    struct run_config config = with_disk("fifo", UNIT);
    expect(time_of(&config, TASKS(1, WHILE)), 1);
    expect(time_of(&config, TASKS(4, WHILE)), 2.2);
    class.disk_bytes_s = 100 * UNIT;
    expect(time_of(&config, TASKS(4, WHILE)), 1);
}

/* A block next to it, one elsewhere, and what maps send. */
static void test_blocks_and_outputs_are_read(void **state)
{
    (void)state;
    struct run_config config = with_disk("fifo", UNIT / 2);
    expect(time_of(&config, TASKS(1, ",\"input_bytes\":1000000,\"replicas\":[[0]]")), 3);
    expect(time_of(&config, TASKS(2, ",\"input_bytes\":1000000,\"replicas\":[[0],[0]]")), 5);
    expect(time_of(&config, TASKS(1, ",\"input_bytes\":1000000,\"replicas\":[[1]]")), 3);
    expect(
        time_of(&config, TASKS(1, ",\"input_bytes\":1000000,\"replicas\":[[0]]" BEFORE("500000"))),
        5); /* the profile speaks of the block */
    static const char shuffle[] =
        "{\"id\":1,\"stages\":[{\"tasks\":1,\"constraint\":\"host=h0\"},"
        "{\"tasks\":1,\"constraint\":\"host=%s\",\"parents\":[{\"stage\":0,\"sums\":[1000000]}]}]}";
    char line[256];
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        snprintf(line, sizeof(line), shuffle, elsewhere ? "h1" : "h0");
        expect(time_of(&config, line), 2);
        class.disk_bytes_s = 100 * UNIT;
        expect(time_of(&config, line), elsewhere ? 1 : .01);
        class.disk_bytes_s = UNIT / 2;
    }
}

static void test_without_a_disk_nothing_is_read(void **state)
{
    (void)state;
    struct run_config config = with_disk("fifo", 0);
    expect(time_of(&config, TASKS(4, BEFORE("1000000"))), 1);
    expect(time_of(&config, TASKS(4, WHILE)), 1);
    expect(time_of(&config, TASKS(1, ",\"input_bytes\":1000000,\"replicas\":[[0]]")), 1);
}

static void test_disks_know_no_failures(void **state)
{
    (void)state;
    struct run_config config = with_disk("fifo", UNIT);
    struct workload_job job = job_of(TASKS(1, WHILE));
    struct err err = {0};
    double jct_s[1];
    struct run_result result = {.jct_s = jct_s};
    config.copy_after = 2;
    assert_true(run_simulate(&config, &job, 1, &result, &err) < 0);
    assert_non_null(strstr(err.text, "without failing hosts and copies"));
    workload_job_done(&job);
}

/* The last report of each line: "permille=P users=N" of host 0. */
static void test_the_engine_learns_what_is_asked(void **state)
{
    (void)state;
    struct run_config config = with_disk("fifo", UNIT);
    struct recording_replay_result again;
    struct err err = {0};
    char line[4096], last[64] = "";
    double jct_s[1];
    bool full = false;
    struct workload_job job = job_of(TASKS(4, BEFORE("800000")));
    config.recording = tmpfile();
    simulate(&config, &job, 1, jct_s);
    rewind(config.recording);
    while (fgets(line, sizeof(line), config.recording)) {
        if (!strstr(line, "e host_load host=0 resource=2"))
            continue;
        full |= strstr(line, "permille=3200 users=4") != NULL;
        snprintf(last, sizeof(last), "%s", strstr(line, "permille"));
    }
    assert_true(full);
    assert_string_equal(last, "permille=0 users=0\n");
    rewind(config.recording);
    if (recording_replay(config.recording, NULL, &again, &err))
        fail_msg("%s", err.text);
    assert_int_equal(again.first_difference_line, 0);
    fclose(config.recording);
    workload_job_done(&job);
}

/* Of a run, as the engine gets them. */
static void told_profiles(struct run_config config, char *ret_text, size_t size)
{
    char line[4096];
    double jct_s[1];
    struct workload_job job = job_of(TASKS(1, BEFORE("500000")));
    config.recording = tmpfile();
    simulate(&config, &job, 1, jct_s);
    expect(jct_s[0], 5); /* the tasks are as they were */
    rewind(config.recording);
    *ret_text = 0;
    while (fgets(line, sizeof(line), config.recording))
        if (strstr(line, "e job_stage"))
            snprintf(ret_text, size, "%s", strstr(line, " profiles="));
    fclose(config.recording);
    workload_job_done(&job);
}

static void test_the_engine_may_get_wrong_profiles(void **state)
{
    (void)state;
    struct run_config config = with_disk("fifo", UNIT);
    char right[256], wrong[256], again[256], other[256];
    told_profiles(config, right, sizeof(right));
    assert_string_equal(right, " profiles=2000000,500000,1,1000000000\n");
    config.profile_error = .3;
    told_profiles(config, wrong, sizeof(wrong));
    told_profiles(config, again, sizeof(again));
    config.engine.seed++;
    told_profiles(config, other, sizeof(other));
    assert_string_not_equal(wrong, right);
    assert_string_equal(wrong, again);
    assert_string_not_equal(wrong, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks_read_before_they_compute),
        cmocka_unit_test(test_tasks_read_while_they_compute),
        cmocka_unit_test(test_blocks_and_outputs_are_read),
        cmocka_unit_test(test_without_a_disk_nothing_is_read),
        cmocka_unit_test(test_disks_know_no_failures),
        cmocka_unit_test(test_the_engine_learns_what_is_asked),
        cmocka_unit_test(test_the_engine_may_get_wrong_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
