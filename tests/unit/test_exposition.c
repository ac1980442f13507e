/* The text that a scrape gets. */
#include "tests/unit/test.h"

#include "controller/metrics/exposition.h"

#include <inttypes.h>
#include <string.h>

static void expect_text(struct exposition *exposition, const char *wanted)
{
    size_t size = 0;
    char *text = exposition_end(exposition, &size);
    assert_non_null(text);
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(text, wanted, size);
    free(text);
}

static void families_are_whole(void **state)
{
    (void)state;
    struct exposition *e = exposition_begin();
    for (int host = 0; host < 2; host++) {
        static const struct metric one = {"host.a", "What a is", METRIC_COUNTER};
        static const struct metric two = {"b", "What b is", METRIC_GAUGE};
        const struct label labels[] = {{"host", host ? "h2" : "h1"}, {"level", "3"}};
        exposition_add(e, &one, labels, 2, (uint64_t)host);
        exposition_add(e, &two, labels, 1, UINT64_MAX);
    }
    expect_text(e, "# HELP duopoly_host_a_total What a is.\n"
                   "# TYPE duopoly_host_a_total counter\n"
                   "duopoly_host_a_total{host=\"h1\",level=\"3\"} 0\n"
                   "duopoly_host_a_total{host=\"h2\",level=\"3\"} 1\n"
                   "# HELP duopoly_b What b is.\n"
                   "# TYPE duopoly_b gauge\n"
                   "duopoly_b{host=\"h1\"} 18446744073709551615\n"
                   "duopoly_b{host=\"h2\"} 18446744073709551615\n");
}

static void units_are_those_of_the_field(void **state)
{
    (void)state;
    struct exposition *e = exposition_begin();
    exposition_add(e, &(const struct metric){"a_ns", "A", METRIC_COUNTER}, NULL, 0, 1500000001);
    exposition_add(e, &(const struct metric){"b.b_us", "B", METRIC_GAUGE}, NULL, 0, 2000000);
    exposition_add(e, &(const struct metric){"c_permille", "C", METRIC_GAUGE}, NULL, 0, 50);
    expect_text(e, "# HELP duopoly_a_seconds_total A.\n# TYPE duopoly_a_seconds_total counter\n"
                   "duopoly_a_seconds_total 1.500000001\n"
                   "# HELP duopoly_b_b_seconds B.\n# TYPE duopoly_b_b_seconds gauge\n"
                   "duopoly_b_b_seconds 2\n"
                   "# HELP duopoly_c_ratio C.\n# TYPE duopoly_c_ratio gauge\n"
                   "duopoly_c_ratio 0.05\n");
}

static void labels_are_escaped(void **state)
{
    (void)state;
    struct exposition *e = exposition_begin();
    const struct label label = {"n", "a\"b\\c\nd"};
    exposition_add(e, &(const struct metric){"x", "X", METRIC_GAUGE}, &label, 1, 7);
    expect_text(e, "# HELP duopoly_x X.\n# TYPE duopoly_x gauge\n"
                   "duopoly_x{n=\"a\\\"b\\\\c\\nd\"} 7\n");
}

static void histograms_are_cumulative(void **state)
{
    (void)state;
    struct exposition *e = exposition_begin();
    struct histogram h = {0};
    size_t size = 0;
    histogram_add(&h, 5000);
    histogram_add(&h, 15000);
    histogram_add(&h, INT64_C(60000000000));
    exposition_histogram(e, "d", "D", &h);
    char *text = exposition_end(e, &size);
    assert_non_null(text);
    assert_non_null(strstr(text, "# TYPE duopoly_d_seconds histogram\n"
                                 "duopoly_d_seconds_bucket{le=\"0.00001\"} 1\n"
                                 "duopoly_d_seconds_bucket{le=\"0.00002\"} 2\n"));
    assert_non_null(strstr(text, "duopoly_d_seconds_bucket{le=\"10\"} 2\n"
                                 "duopoly_d_seconds_bucket{le=\"+Inf\"} 3\n"
                                 "duopoly_d_seconds_sum 60.00002\n"
                                 "duopoly_d_seconds_count 3\n"));
    free(text);
}

/* For many samples the family is found once, and the label written once. */
static void samples_of_many_hosts_are_the_same(void **state)
{
    (void)state;
    struct exposition *e = exposition_begin();
    struct family *family =
        exposition_family(e, &(const struct metric){"a_us", "A", METRIC_COUNTER});
    const struct label host = {"host", "h\"1"};
    struct text label = {.at = NULL};
    labels_add(&label, &host, 1);
    family_add(family, &label, "", 5000000);
    family_add(family, &label, ",level=\"7\"", 2);
    family_add(NULL, &label, "", 3);
    text_done(&label);
    expect_text(e, "# HELP duopoly_a_seconds_total A.\n# TYPE duopoly_a_seconds_total counter\n"
                   "duopoly_a_seconds_total{host=\"h\\\"1\"} 5\n"
                   "duopoly_a_seconds_total{host=\"h\\\"1\",level=\"7\"} 0.000002\n");
}

/* Two families of some portions each. */
static struct exposition *long_text(char *wanted, size_t size)
{
    struct exposition *e = exposition_begin();
    size_t used = 0;
    for (unsigned f = 0; f < 2; f++) {
        const char *name = f ? "g" : "f";
        used += (size_t)snprintf(wanted + used, size - used,
                                 "# HELP duopoly_%s F.\n# TYPE duopoly_%s gauge\n", name, name);
        for (uint64_t i = 0; i < 10000; i++) {
            exposition_add(e, &(const struct metric){name, "F", METRIC_GAUGE}, NULL, 0, i);
            used +=
                (size_t)snprintf(wanted + used, size - used, "duopoly_%s %" PRIu64 "\n", name, i);
        }
    }
    return e;
}

static void a_long_text_is_joined_in_portions(void **state)
{
    (void)state;
    static char wanted[500000];
    struct exposition *e = long_text(wanted, sizeof(wanted));
    size_t portions = 0;
    while (exposition_join(e))
        portions++;
    assert_true(portions >= strlen(wanted) / EXPOSITION_AT_ONCE);
    expect_text(e, wanted);
    e = long_text(wanted, sizeof(wanted));
    for (int i = 0; i < 4; i++)
        assert_true(exposition_join(e));
    exposition_drop(e);
}

/* Whatever the order in which samples come, and however many. */
static void many_samples_in_any_order_stay_with_their_family(void **state)
{
    (void)state;
    enum { FAMILIES = 150, SAMPLES = 5000 };
    uint64_t stream = test_seed();
    struct exposition *e = exposition_begin();
    unsigned counts[FAMILIES] = {0};
    char name[16], value[16];
    size_t size = 0;
    for (int i = 0; i < SAMPLES; i++) {
        unsigned f = (unsigned)(test_random(&stream) % FAMILIES);
        const struct label label = {"i", value};
        snprintf(name, sizeof(name), "f%u", f);
        snprintf(value, sizeof(value), "%d", i);
        exposition_add(e, &(const struct metric){name, "F", METRIC_GAUGE}, &label, 1, f);
        counts[f]++;
    }
    char *text = exposition_end(e, &size), *next = text;
    assert_non_null(text);
    text[size - 1] = '\0';
    unsigned family = 0, left = 0, seen = 0;
    for (char *line; (line = strsep(&next, "\n"));) {
        if (strncmp(line, "# HELP", 6) == 0) {
            assert_int_equal(left, 0);
            assert_int_equal(sscanf(line, "# HELP duopoly_f%u ", &family), 1);
            left = counts[family];
            counts[family] = 0;
        } else if (*line != '#') {
            unsigned of = FAMILIES;
            assert_int_equal(sscanf(line, "duopoly_f%u{", &of), 1);
            assert_int_equal(of, family);
            left--;
            seen++;
        }
    }
    assert_int_equal(left, 0);
    assert_int_equal(seen, SAMPLES);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_are_whole),
        cmocka_unit_test(units_are_those_of_the_field),
        cmocka_unit_test(labels_are_escaped),
        cmocka_unit_test(histograms_are_cumulative),
        cmocka_unit_test(samples_of_many_hosts_are_the_same),
        cmocka_unit_test(a_long_text_is_joined_in_portions),
        cmocka_unit_test(many_samples_in_any_order_stay_with_their_family),
    };
    return cmocka_run_group_tests_name("exposition", tests, NULL, NULL);
}
