/* Histograms of durations. */
#include "tests/unit/test.h"

#include "lib/histogram.h"

static void each_duration_is_in_one_range(void **state)
{
    (void)state;
    uint64_t stream = test_seed(), sum = 0, n = 5000;
    struct histogram h = {0};
    uint64_t wanted[HISTOGRAM_BOUNDS + 1] = {0};
    for (uint64_t i = 0; i < n; i++) {
        uint64_t ns = test_random(&stream) % (UINT64_C(1) << (test_random(&stream) % 36));
        int at = 0;
        for (int b = 0; b < HISTOGRAM_BOUNDS; b++)
            at += ns > histogram_bounds_ns[b];
        wanted[at]++;
        sum += ns;
        histogram_add(&h, (int64_t)ns);
    }
    assert_memory_equal(h.counts, wanted, sizeof(wanted));
    assert_true(h.sum_ns == sum);
}

static void bounds_belong_below(void **state)
{
    (void)state;
    struct histogram h = {0};
    for (int b = 0; b < HISTOGRAM_BOUNDS; b++) {
        histogram_add(&h, (int64_t)histogram_bounds_ns[b]);
        histogram_add(&h, (int64_t)histogram_bounds_ns[b] + 1);
        assert_true(!b || histogram_bounds_ns[b] > histogram_bounds_ns[b - 1]);
    }
    assert_int_equal(h.counts[0], 1);
    for (int b = 1; b < HISTOGRAM_BOUNDS; b++)
        assert_int_equal(h.counts[b], 2);
    assert_int_equal(h.counts[HISTOGRAM_BOUNDS], 1);
}

static void a_clock_that_was_set_back_counts_as_nothing(void **state)
{
    (void)state;
    struct histogram h = {0};
    histogram_add(&h, -5);
    assert_int_equal(h.counts[0], 1);
    assert_int_equal(h.sum_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_duration_is_in_one_range),
        cmocka_unit_test(bounds_belong_below),
        cmocka_unit_test(a_clock_that_was_set_back_counts_as_nothing),
    };
    return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
