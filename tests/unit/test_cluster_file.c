/* Cluster files: what they say of each host, what is refused, and that hosts that are all alike run
 * as the short form has them. */
#include "tests/unit/test.h"

#include "testbed/sim/run_setup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Four jobs on nine hosts. */
static const char workload[] =
    "{\"duopoly_workload\": 1, \"hosts\": 9}\n"
    "{\"id\": 1, \"arrival_ms\": 0, \"stages\": [{\"tasks\": 6, \"input_bytes\": 2000000, "
    "\"replicas\": [[0], [1], [2], [3], [4], [5]], \"compute_ms\": 400}, {\"tasks\": 2, "
    "\"compute_ms\": 100, \"parents\": [{\"stage\": 0, \"sums\": [8000000, 4000000]}]}]}\n"
    "{\"id\": 2, \"arrival_ms\": 100, \"stages\": [{\"tasks\": 4, \"input_bytes\": 1000000, "
    "\"replicas\": [[6], [7], [8], [0]], \"compute_ms\": 300}, {\"tasks\": 1, \"compute_ms\": 50, "
    "\"parents\": [{\"stage\": 0, \"sums\": [6000000]}]}]}\n"
    "{\"id\": 3, \"arrival_ms\": 150, \"stages\": [{\"tasks\": 3, \"compute_ms\": 200}]}\n"
    "{\"id\": 4, \"arrival_ms\": 300, \"stages\": [{\"tasks\": 5, \"compute_ms\": 250, "
    "\"input_bytes\": 500000, \"replicas\": [[0], [1], [2], [3], [4]]}, {\"tasks\": 3, "
    "\"compute_ms\": 70, \"parents\": [{\"stage\": 0, \"sums\": [1000000, 2000000, 3000000]}]}]}\n";

/* Of the file of this moment; and of the workload. */
static char path[32], jobs_path[32];

static void write_text(const char *text, char *ret_path)
{
    strcpy(ret_path, "/tmp/cluster-XXXXXX");
    int fd = mkstemp(ret_path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static int setup_workload(void **state)
{
    (void)state;
    write_text(workload, jobs_path);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(jobs_path);
    unlink(path);
    return 0;
}

static int read_text(const char *text, struct cluster *ret_cluster, struct err *err)
{
    write_text(text, path);
    int r = cluster_file_read(path, ret_cluster, err);
    unlink(path);
    return r;
}

static void test_classes_become_hosts(void **state)
{
    (void)state;
    static const char text[] = "classes:\n"
                               "  - {name: g, hosts: 2, rack: r1, labels: [gpu, big],\n"
                               "     units: [{slots: 4}, {slots: 1, gpu_mem_bytes: 8 GB},\n"
                               "             {devices: [d0]}, {slots: 1, devices: [d1, d2]}],\n"
                               "     link: 1 Gbps, downlink: 2 Gbps, disk: 200 MB}\n"
                               "  - {names: [a, b]}\n"
                               "  - {hosts: 1, uplink: 5 Mbps}\n";
    static const char *const names[] = {"g1", "g2", "a", "b", "h4"};
    struct cluster cluster;
    struct err err;
    char labels[64];
    if (read_text(text, &cluster, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(cluster.n_hosts, 5);
    for (uint32_t h = 0; h < 5; h++)
        assert_string_equal(cluster.hosts[h].name, names[h]);
    const struct cluster_class *first = cluster.hosts[1].class, *last = cluster.hosts[4].class;
    cluster_labels(first, labels, sizeof(labels));
    assert_string_equal(labels, "gpu,big");
    assert_string_equal(first->rack, "r1");
    assert_int_equal(first->units[1].gpu_mem_bytes, 8000000000);
    assert_int_equal(first->disk_bytes_s, 200000000);
    assert_int_equal(first->units[1].gpu_milli, 0);
    assert_int_equal(first->units[2].gpu_milli, 1000);
    assert_int_equal(first->units[3].gpu_milli, 2000);
    assert_string_equal(first->units[3].devices.at[1].name, "d2");
    assert_int_equal(cluster_slots(first, 9), 6);
    assert_int_equal(cluster_slots(last, 9), 9);
    assert_int_equal(cluster_uplink_bps(first), 1000000000);
    assert_int_equal(cluster_downlink_bps(first), 2000000000);
    assert_int_equal(cluster_uplink_bps(last), 5000000);
    assert_int_equal(cluster_downlink_bps(last), 0);
    cluster_file_done(&cluster);
}

/* Names that nearly clash. */
static void test_names_of_one_file_differ(void **state)
{
    (void)state;
    static const char text[] = "classes:\n  - {name: g, hosts: 3}\n"
                               "  - {names: [g, g0, g01, g4, g1x, h3, h11]}\n  - {hosts: 1}\n"
                               "  - {name: g1, hosts: 2}\n";
    struct cluster cluster;
    struct err err;
    if (read_text(text, &cluster, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(cluster.hosts[10].name, "h10");
    cluster_file_done(&cluster);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"classes: []\n", "classes"},
        {"classes:\n  - {hosts: -1}\n", ":2:13: "},
        {"classes:\n  - {hosts: 0}\n", ":2:5: a class says either how many hosts it has"},
        {"classes:\n  - {hosts: 1, names: [a]}\n", ":2:5: a class says either"},
        {"classes:\n  - {name: a, names: [a]}\n", ":2:5: the hosts of a class have its name, or"},
        {"classes:\n  - {hosts: 1, colour: red}\n", ":2:16: "},
        {"classes:\n  - {hosts: 1, units: [{}]}\n", ":2:24: a unit has something"},
        {"classes:\n  - {hosts: 1, units: [{slots: -1}]}\n", ":2:32: "},
        {"classes:\n  - {hosts: 1, units: [{gpu_milli: 1001}]}\n",
         ":2:24: gpu_milli is 1001: it is per mille of one device, 1000 at most"},
        {"classes:\n  - {hosts: 1, units: [{devices: [a, b], gpu_milli: 1000}]}\n",
         ":2:24: a unit of 2 devices hands each out whole: its gpu_milli is 2000"},
        {"classes:\n  - {hosts: 1, units: [{devices: [a, b], gpu_mem_bytes: 1 B}]}\n",
         ":2:24: a unit of 2 devices hands each out whole: memory"},
        {"classes:\n  - {hosts: 1, units: [{devices: [a]}, {devices: [b, a]}]}\n",
         ":2:40: the device a is in two units"},
        {"classes:\n  - {hosts: 1, units: [{devices: [a, a]}]}\n",
         ":2:38: the device a is in this unit twice"},
        {"classes:\n  - {hosts: 1, units: [{devices: [a/b]}]}\n",
         "'a/b' cannot be a device's name"},
        {"classes:\n  - {hosts: 1, units: [{name: u, slots: 1}, {name: u, slots: 2}]}\n",
         ":2:45: two units are called u"},
        {"classes:\n  - {names: [a b]}\n", ":2:14: names: 'a b' cannot be a name"},
        {"classes:\n  - {names: [a]}\n  - {names: [b, a]}\n",
         ":3:5: two hosts are called a: one of this class and one of class 1"},
        {"classes:\n  - {name: h, hosts: 12}\n  - {name: h1, hosts: 2}\n",
         ":3:5: two hosts are called h11: one of this class and one of class 1"},
        {"classes:\n  - {names: [x]}\n  - {names: [h2]}\n  - {hosts: 2}\n",
         ":4:5: two hosts are called h2: one of this class and one of class 2"},
        {"classes:\n  - {hosts: 2}\n  - {names: [h1]}\n",
         ":3:5: two hosts are called h1: one of this class and one of class 1"},
        {"classes:\n  - {names: [b, a, a]}\n", ":2:20: two hosts are called a"},
        {"classes:\n  - {hosts: 1, disk: 0 B}\n",
         ":2:22: disk: a disk of rate 0 reads nothing; say how many bytes a second"},
        {"classes:\n  - {hosts: 1, disk: fast}\n", ":2:22: disk: "},
        {"classes:\n  - {hosts: 60000}\n  - {name: b, hosts: 60000}\n",
         "120000 hosts, at most 100000 are taken"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cluster cluster;
        struct err err = {0};
        if (read_text(cases[i].text, &cluster, &err) >= 0)
            fail_msg("taken: %s", cases[i].text);
        if (!strstr(err.text, cases[i].words) || strncmp(err.text, path, strlen(path)) != 0)
            fail_msg("%s: %s", cases[i].text, err.text);
    }
}

/* The result of a run, as numbers that would differ if anything did. */
static void run(const char *const (*options)[2], double *ret_jct_s, size_t *ret_n,
                struct run_result *ret_result)
{
    struct run_setup setup;
    struct run_inputs in = {0};
    struct run_listeners nobody = {0};
    struct err err = {0};
    run_setup_init(&setup);
    int r = run_setup_set(&setup, "workload", jobs_path, &err);
    for (; !r && (*options)[0]; options++)
        r = run_setup_set(&setup, (*options)[0], (*options)[1], &err);
    r = r ? r : run_inputs_read(&setup, &in, &err);
    *ret_n = in.n;
    ret_result->jct_s = ret_jct_s;
    r = r ? r : run_setup_simulate(&setup, &in, &nobody, ret_result, &err);
    if (r)
        fail_msg("%s", err.text);
    run_inputs_done(&in);
}

enum { JOBS = 4 };

static void test_equal_hosts_run_as_the_short_form(void **state)
{
    (void)state;
    static const char *const policies[] = {"fifo", "drf", "fair", "duopoly", "joint"};
    write_text("classes:\n  - {hosts: 2, units: [{slots: 2}], link: 100 Mbps}\n"
               "  - {hosts: 2, units: [{slots: 2}], uplink: 100 Mbps, downlink: 100 Mbps}\n",
               path);
    for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
        double in_short[JOBS], in_file[JOBS];
        struct run_result a, b;
        size_t n;
        run((const char *const[][2]){{"policy", policies[p]},
                                     {"servers", "4"},
                                     {"slots", "2"},
                                     {"link", "100Mbps"},
                                     {NULL, NULL}},
            in_short, &n, &a);
        assert_int_equal(n, JOBS);
        run((const char *const[][2]){{"policy", policies[p]}, {"cluster", path}, {NULL, NULL}},
            in_file, &n, &b);
        assert_memory_equal(in_short, in_file, sizeof(in_short));
        assert_int_equal(a.steps, b.steps);
        assert_true(a.link_use == b.link_use);
    }
    unlink(path);
}

/* Tasks that want a GPU run in units that have one; what no host of the file meets is refused with
 * its term. */
static void test_unlike_hosts(void **state)
{
    (void)state;
    double jct_s[JOBS];
    struct run_result result;
    struct run_setup setup;
    struct run_inputs in = {0};
    struct err err = {0};
    size_t n;
    run((const char *const[][2]){{"policy", "drf"},
                                 {"cluster", "testbed/clusters/mixed.yaml"},
                                 {NULL, NULL}},
        jct_s, &n, &result);
    assert_int_equal(n, JOBS);
    run_setup_init(&setup);
    assert_int_equal(run_setup_set(&setup, "workload", jobs_path, &err), 0);
    assert_int_equal(run_setup_set(&setup, "cluster", "testbed/clusters/mixed.yaml", &err), 0);
    assert_int_equal(run_inputs_read(&setup, &in, &err), 0);
    strcpy(in.jobs[0].stages[0].constraint, "gpu & host=s1");
    result.jct_s = jct_s;
    assert_int_equal(run_setup_simulate(&setup, &in, &(struct run_listeners){0}, &result, &err),
                     -EINVAL);
    assert_non_null(strstr(err.text, "none that meets 'gpu' meets 'host=s1'"));
    run_inputs_done(&in);
    setup.servers = 3;
    assert_int_equal(run_inputs_read(&setup, &in, &err), -EINVAL);
    assert_non_null(strstr(err.text, "leave out --servers and --racks"));
    run_inputs_done(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes_become_hosts),
        cmocka_unit_test(test_names_of_one_file_differ),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_equal_hosts_run_as_the_short_form),
        cmocka_unit_test(test_unlike_hosts),
    };
    return cmocka_run_group_tests(tests, setup_workload, remove_files);
}
