/* What an attempt receives is told over the last one to two seconds, and not when it is unknown. */
#include "tests/unit/test.h"

#include "controller/agents/attempt_rate.h"

#define TENTH (ATTEMPT_RATE_NS / 10)

static void it_is_unknown_before_the_second_count(void **state)
{
    struct attempt_rate rate = {0};
    (void)state;
    assert_int_equal(attempt_rate_bps(&rate, 5 * TENTH), -1);
    attempt_rate_take(&rate, 5 * TENTH, 1000);
    assert_int_equal(attempt_rate_bps(&rate, 6 * TENTH), -1);
    attempt_rate_take(&rate, 6 * TENTH, 2000);
    assert_int_equal(attempt_rate_bps(&rate, 6 * TENTH), 80000);
}

/* Of a rate that changes every three seconds the last two count. */
static void it_follows(void **state)
{
    struct attempt_rate rate = {0};
    uint64_t bytes = 0, seed = test_seed();
    (void)state;
    for (int64_t n = 1; n < 300; n++) {
        const uint64_t each = 1000 + (uint64_t)n / 30 * 500 + test_random(&seed) % 100;
        attempt_rate_take(&rate, n * TENTH, bytes += each);
        const int64_t bps = attempt_rate_bps(&rate, n * TENTH);
        if (n % 30 > 20) {
            const int64_t least = (1000 + n / 30 * 500) * 80;
            assert_true(bps >= least && bps <= least + 8000);
        }
    }
}

static void it_ends_with_the_counts(void **state)
{
    struct attempt_rate rate = {0};
    (void)state;
    for (int64_t n = 1; n < 50; n++)
        attempt_rate_take(&rate, n * TENTH, (uint64_t)n * 1000);
    assert_int_equal(attempt_rate_bps(&rate, 49 * TENTH + 20 * TENTH), 80000);
    assert_int_equal(attempt_rate_bps(&rate, 49 * TENTH + 20 * TENTH + 1), 0);
}

/* An agent that began anew counts anew. */
static void a_smaller_count_begins_again(void **state)
{
    struct attempt_rate rate = {0};
    (void)state;
    attempt_rate_take(&rate, TENTH, 9000000);
    attempt_rate_take(&rate, 2 * TENTH, 9900000);
    attempt_rate_take(&rate, 3 * TENTH, 500);
    assert_int_equal(attempt_rate_bps(&rate, 3 * TENTH), -1);
    attempt_rate_take(&rate, 4 * TENTH, 1500);
    assert_int_equal(attempt_rate_bps(&rate, 4 * TENTH), 80000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_unknown_before_the_second_count),
        cmocka_unit_test(it_follows),
        cmocka_unit_test(it_ends_with_the_counts),
        cmocka_unit_test(a_smaller_count_begins_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
