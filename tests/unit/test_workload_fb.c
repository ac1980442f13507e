#include "tests/unit/test.h"

#include "lib/workload/workload_fb.h"

#include <errno.h>
#include <string.h>

static int parse(const char *text, struct workload_fb **ret, struct err *err)
{
    return workload_fb_parse(text, strlen(text), "t", ret, err);
}

static void test_reads_what_the_format_says(void **state)
{
    (void)state;
    struct workload_fb *t = NULL;
    struct err err = {0};
    assert_int_equal(parse("5 2\n7 100 2 0 4 2 1:1.5 3:2\r\n9 50 1 4 1 4:0.0\n\n", &t, &err), 0);
    assert_int_equal(t->n_ports, 5);
    assert_int_equal(t->n_coflows, 2);
    assert_int_equal(t->n_mappers, 3);
    assert_int_equal(t->n_reducers, 3);
    assert_int_equal(t->coflows[0].id, 7);
    assert_int_equal(t->coflows[0].arrival_ms, 100);
    assert_int_equal(t->coflows[0].mappers[1], 4);
    assert_int_equal(t->coflows[0].reducers[0].port, 1);
    assert_int_equal(t->coflows[0].reducers[0].bytes, 1572864);
    assert_int_equal(t->coflows[0].reducers[1].bytes, 2 << 20);
    assert_int_equal(t->coflows[1].mappers[0], 4);
    assert_int_equal(t->coflows[1].reducers[0].bytes, 0);
    workload_fb_destroy(t);
}

static void test_refuses_bad_input_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {"", "t:1: the number of ports is missing: the line ends too early"},
        {"5\n", "t:1: the number of coflows is missing: the line ends too early"},
        {"0 1\n", "t:1: the number of ports is 0"},
        {"5 0\n", "t:1: the number of coflows is 0"},
        {"5 99999999\n", "t:1: the number of coflows is more than 10000000"},
        {"5 1 3\n", "t:1: the line goes on after what its counts announce"},
        {"5 2\n1 0 1 0 1 1:1\n", "t:3: the trace ends after 1 of 2 coflows"},
        {"5 1\n1 0 1 0 1 1:1\n2 0 1 0 1 1:1\n",
         "t:3: the trace has more coflows than its first line says"},
        {"5 1\n1 0 3 0 1\n", "t:2: a mapper's location is missing: the line ends too early"},
        {"5 1\n1 0 1 5 1 1:1\n", "t:2: a mapper's location is more than 4"},
        {"5 1\n1 -4 1 0 1 1:1\n", "t:2: the arrival is not a number from 0 on"},
        {"5 1\n1 0 0 1 1:1\n", "t:2: the number of mappers is 0"},
        {"5 1\n1 0 1 0 0\n", "t:2: the number of reducers is 0"},
        {"5 1\n1 0 1 0 1 1:-3\n", "t:2: a reducer's MB is not between 0 and 10^9"},
        {"5 1\n1 0 1 0 1 1:1e300\n", "t:2: a reducer's MB is not between 0 and 10^9"},
        {"5 1\n1 0 1 0 1 1:nan\n", "t:2: a reducer's MB is not between 0 and 10^9"},
        {"5 1\n1 0 1 0 1 1:\n", "t:2: a reducer is not LOCATION:MB"},
        {"5 1\n1 0 1 0 1 1\n", "t:2: a reducer is not LOCATION:MB"},
        {"5 1\n1 0 1 0 1 1:3x\n", "t:2: a reducer's MB is not a number"},
        {"5 1\n1 0 1 0x 1 1:3\n", "t:2: a mapper's location is not a whole number"},
        {"5 1\n1 0 1 0 1 1:3 2:4\n", "t:2: the line goes on after what its counts announce"},
        {"5 2\n1 0 1 0 1 1:3\n1 0 1 0 1 1:3\n", "t: two coflows have the id 1"},
        {"5 1\n99999999999999999999 0 1 0 1 1:3\n",
         "t:2: the coflow's id is more than 9223372036854775807"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct workload_fb *t = NULL;
        struct err err = {0};
        assert_int_equal(parse(bad[i].text, &t, &err), -EINVAL);
        assert_string_equal(err.text, bad[i].sentence);
        assert_null(t);
    }
    struct workload_fb *t = NULL;
    assert_int_equal(workload_fb_parse("5 1\n1 0 1 0 1 1:3\0\n", 19, "t", &t, NULL), -EINVAL);
}

static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    const char *whole = "5 2\n7 100 2 0 4 2 1:15 3:21\n9 50 1 4 1 4:10\n";
    size_t size = strlen(whole);
    struct workload_fb *t = NULL;
    /* Cutting only digits of the last size, or the last line's end, leaves a trace that is
     * well-formed. */
    for (size_t cut = 0; cut + 3 < size; cut++)
        assert_int_equal(workload_fb_parse(whole, cut, "t", &t, NULL), -EINVAL);
    assert_int_equal(workload_fb_parse(whole, size - 1, "t", &t, NULL), 0);
    workload_fb_destroy(t);
}

static void test_load_says_which_file_it_cannot_open(void **state)
{
    (void)state;
    struct workload_fb *t = NULL;
    struct err err = {0};
    assert_int_equal(workload_fb_load("/nonexistent/trace", &t, &err), -ENOENT);
    assert_string_equal(err.text,
                        "cannot open the trace /nonexistent/trace: No such file or directory");
    assert_int_equal(workload_fb_load("/", &t, &err), -EIO);
}

static void test_the_benchmark_trace_where_it_is(void **state)
{
    (void)state;
    const char *path = getenv("FB_TRACE");
    if (!path)
        path = "../shared/traces/FB2010-1Hr-150-0.txt";
    struct workload_fb *t = NULL;
    if (workload_fb_load(path, &t, NULL))
        skip_since("no Facebook trace (FB_TRACE=)");
    size_t flows = 0;
    for (size_t i = 0; i < t->n_coflows; i++)
        flows += (size_t)t->coflows[i].n_mappers * t->coflows[i].n_reducers;
    assert_int_equal(t->n_coflows, 526);
    assert_int_equal(t->n_reducers, 10609);
    assert_int_equal(flows, 706397);
    workload_fb_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_the_format_says),
        cmocka_unit_test(test_refuses_bad_input_with_its_line),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_load_says_which_file_it_cannot_open),
        cmocka_unit_test(test_the_benchmark_trace_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
