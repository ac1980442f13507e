/* Bins of time, and the picture of the links that they make: nothing is lost or moved to another
 * bin, and drawing costs a run little. */
#include "tests/unit/draws.h"
#include "tests/unit/run_cases.h"

#include "testbed/sim/areas.h"
#include "testbed/sim/link_picture.h"

#include <math.h>
#include <time.h>

static void expect_near(const char *what, double is, double wanted)
{
    if (fabs(is - wanted) > 1e-9 * fmax(fabs(wanted), 1))
        fail_msg("%s: %.12g, not %.12g", what, is, wanted);
}

struct span {
    int64_t from_ns, to_ns;
    double value;
};

static double between(const struct span *spans, size_t n, int64_t from_ns, int64_t to_ns)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t from = spans[i].from_ns > from_ns ? spans[i].from_ns : from_ns,
                to = spans[i].to_ns < to_ns ? spans[i].to_ns : to_ns;
        sum += to > from ? spans[i].value * (double)(to - from) : 0;
    }
    return sum;
}

static void check_bins(const struct time_bins *bins, const struct span *spans, size_t n)
{
    unsigned used = time_bins_n(bins);
    assert_true(used > 0 && used <= TIME_BINS);
    assert_true(time_bins_edge_ns(bins, 0) == spans[0].from_ns);
    assert_true(time_bins_edge_ns(bins, used) == spans[n - 1].to_ns);
    for (unsigned i = 0; i < used; i++) {
        int64_t from_ns = time_bins_edge_ns(bins, i), to_ns = time_bins_edge_ns(bins, i + 1);
        assert_true(to_ns > from_ns);
        expect_near("a bin's mean", time_bins_mean(bins, 0, i),
                    between(spans, n, from_ns, to_ns) / (double)(to_ns - from_ns));
        assert_true(time_bins_mean(bins, 1, i) == 1);
    }
    int64_t all_ns = spans[n - 1].to_ns - spans[0].from_ns;
    expect_near("the mean", time_bins_mean_of_all(bins, 0),
                between(spans, n, spans[0].from_ns, spans[n - 1].to_ns) / (double)all_ns);
}

/* Spans of 1 ns to hours, from any instant on: each bin holds what was in it, and what is always 1
 * is 1 in each. */
static void test_every_bin_has_what_was_in_it(void **state)
{
    (void)state;
    enum { SPANS = 300 };
    uint64_t seed = test_seed();
    for (int round = 0; round < 200; round++) {
        struct time_bins bins = {0};
        struct span spans[SPANS];
        size_t n = 1 + test_random(&seed) % SPANS;
        int64_t at_ns = (int64_t)(test_random(&seed) % 3) * 123456789;
        unsigned longest = (unsigned)(test_random(&seed) % 44);
        for (size_t i = 0; i < n; i++) {
            uint64_t most = (uint64_t)1 << (test_random(&seed) % (longest + 1));
            spans[i] = (struct span){at_ns, at_ns + 1 + (int64_t)(test_random(&seed) % most),
                                     (double)(test_random(&seed) % 1000)};
            at_ns = spans[i].to_ns;
            const double parts[TIME_BINS_PARTS] = {spans[i].value, 1};
            time_bins_add(&bins, spans[i].from_ns, spans[i].to_ns, parts);
        }
        check_bins(&bins, spans, n);
    }
}

static void test_no_time_is_no_bin(void **state)
{
    (void)state;
    struct time_bins bins = {0};
    time_bins_add(&bins, 5, 5, (const double[TIME_BINS_PARTS]){1});
    assert_int_equal(time_bins_n(&bins), 0);
    assert_true(time_bins_mean_of_all(&bins, 0) == 0);
}

static void test_areas_are_flat_over_each_bin(void **state)
{
    (void)state;
    struct time_bins bins = {0};
    struct areas areas;
    for (int64_t i = 0; i < 3 * TIME_BINS; i++)
        time_bins_add(&bins, i, i + 1, (const double[TIME_BINS_PARTS]){(double)(i % 7)});
    areas_of(&bins, &areas);
    double area = 0;
    for (size_t i = 0; i < areas.n; i += 2) {
        assert_true(areas.y[0][i] == areas.y[0][i + 1]);
        assert_true(!i || areas.x[i] == areas.x[i - 1]);
        area += areas.y[0][i] * (areas.x[i + 1] - areas.x[i]) * 1e9;
    }
    expect_near("the area", area, time_bins_mean_of_all(&bins, 0) * 3 * TIME_BINS);
}

/* ---- the picture of the links ---- */

enum { JOBS = 8, HOSTS = 12 };

static struct workload_job shuffle(size_t number, uint32_t tasks, uint64_t *seed)
{
    char line[8192];
    int at = sprintf(line,
                     "{\"id\":%zu,\"arrival_ms\":%zu,\"stages\":[{\"tasks\":%u,\"compute_ms\":%u},"
                     "{\"tasks\":%u,\"compute_ms\":%u,\"parents\":[{\"stage\":0,\"sums\":[",
                     number + 1, 700 * number, tasks, (unsigned)(test_random(seed) % 900), tasks,
                     (unsigned)(test_random(seed) % 900));
    for (uint32_t t = 0; t < tasks; t++)
        at += sprintf(line + at, "%s%u", t ? "," : "", (unsigned)(test_random(seed) % (4 * UNIT)));
    sprintf(line + at, "]}]}]}");
    return job_of(line);
}

static double rate_of_all(const struct run_config *config)
{
    struct topology topology = {0};
    double sum = 0;
    assert_int_equal(run_topology(config, &topology, NULL), 0);
    for (uint32_t h = 0; h < config->hosts; h++)
        sum += topology_link_bytes_s(&topology, config->hosts + h);
    topology_done(&topology);
    return sum;
}

static void check_picture(const struct link_picture *picture, double rate, double bytes)
{
    const struct time_bins *b = &picture->bins;
    double seconds = (double)(b->to_ns - b->from_ns) * 1e-9,
           carried = time_bins_mean_of_all(b, 0) / 100 * seconds * rate;
    if (fabs(carried - bytes) > 1e-6 * bytes)
        fail_msg("the picture shows %.0f bytes, the jobs have %.0f", carried, bytes);
    for (unsigned i = 0; i < time_bins_n(b); i++) {
        double sum = 0;
        for (unsigned part = 0; part < LINK_PICTURE_PARTS; part++) {
            sum += time_bins_mean(b, part, i);
            assert_true(time_bins_mean(b, part, i) > -1e-6);
        }
        expect_near("all parts of a bin, %", sum, 100);
    }
}

/* As matrices, as a graph (links of their own), and in racks. */
static void test_the_picture_shows_every_byte(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int round = 0; round < DRAWS(40, 8); round++) {
        struct workload_job jobs[JOBS];
        double jct_s[JOBS], bytes = 0;
        for (size_t i = 0; i < JOBS; i++) {
            jobs[i] = shuffle(i, 1 + (uint32_t)(test_random(&seed) % 20), &seed);
            bytes += (double)workload_job_shuffle_bytes(&jobs[i]);
        }
        for (const struct preset *p = presets; p->name; p++) {
            struct link_picture picture = {0};
            struct run_config config = config_of(p->name, HOSTS, 2, 8 * UNIT);
            config.local_free = false;
            config.own_links = test_random(&seed) % 2 ? "h0=1Mbps,h1.down=80Mbps" : NULL;
            config.racks = test_random(&seed) % 3 ? 0 : 3;
            config.oversubscription = 2;
            config.links = link_picture_listen;
            config.links_listener = &picture;
            simulate(&config, jobs, JOBS, jct_s);
            check_picture(&picture, rate_of_all(&config), bytes);
        }
        for (size_t i = 0; i < JOBS; i++)
            workload_job_done(&jobs[i]);
    }
}

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double takes_s(struct run_config *config, const struct workload_job *jobs, size_t n)
{
    double jct_s[JOBS], begin_s = processor_s();
    simulate(config, jobs, n, jct_s);
    return processor_s() - begin_s;
}

/* What each instant costs does not grow with the flows: all rates of 400 shuffling tasks were added
 * up for each link, some hundred times the run. */
static void test_a_picture_costs_a_run_little(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    struct workload_job jobs[JOBS];
    struct link_picture picture = {0};
    for (size_t i = 0; i < JOBS; i++)
        jobs[i] = shuffle(i, 400, &seed);
    struct run_config config = config_of("joint", 100, 4, 8 * UNIT);
    double without_s = takes_s(&config, jobs, JOBS);
    config.links = link_picture_listen;
    config.links_listener = &picture;
    double with_s = takes_s(&config, jobs, JOBS);
    if (with_s > 3 * without_s + .05)
        fail_msg("%.3f s of processor time with the picture, %.3f without", with_s, without_s);
    for (size_t i = 0; i < JOBS; i++)
        workload_job_done(&jobs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_bin_has_what_was_in_it),
        cmocka_unit_test(test_no_time_is_no_bin),
        cmocka_unit_test(test_areas_are_flat_over_each_bin),
        cmocka_unit_test(test_the_picture_shows_every_byte),
        cmocka_unit_test(test_a_picture_costs_a_run_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
