/* Connections' rates since a reading: each has its own, those that were not read have none, and
 * another reading replaces the first. */
#include "tests/unit/test.h"

#include "hostagent/flow_rates.h"

#include <string.h>

#define MS UINT64_C(1000000)

static struct flow_carried connection(uint64_t number, uint64_t sent, uint64_t received)
{
    struct flow_carried carried = {.sent_bytes = sent, .received_bytes = received};
    memcpy(carried.key.local, &number, sizeof(number));
    return carried;
}

static void each_has_its_own_rate(void **state)
{
    enum { CONNECTIONS = 1000 };
    static struct flow_carried before[CONNECTIONS];
    struct flow_rates rates = {0};
    uint64_t seed = test_seed();
    (void)state;
    flow_rates_begin(&rates, 1000 * MS);
    for (uint64_t i = 0; i < CONNECTIONS; i++) {
        before[i] = connection(i * 7919 % CONNECTIONS, test_random(&seed) % 1000000,
                               test_random(&seed) % 1000000);
        flow_rates_add(&rates, &before[i]);
    }
    flow_rates_end(&rates);
    for (uint64_t i = 0; i < CONNECTIONS; i++) {
        struct flow_carried now = before[i];
        const uint64_t more = test_random(&seed) % 1000000;
        uint64_t sent_bps, received_bps;
        now.sent_bytes += 2 * more;
        now.received_bytes += more;
        assert_true(flow_rates_since(&rates, &now, 1500 * MS, &sent_bps, &received_bps));
        assert_int_equal(received_bps, more * 16);
        assert_int_equal(sent_bps, more * 32);
    }
    flow_rates_done(&rates);
}

static void what_was_not_read_has_none(void **state)
{
    struct flow_rates rates = {0};
    const struct flow_carried known = connection(1, 50, 50), other = connection(2, 50, 50),
                              reused = connection(1, 10, 60);
    uint64_t sent_bps, received_bps;
    (void)state;
    assert_false(flow_rates_since(&rates, &known, 5 * MS, &sent_bps, &received_bps));
    flow_rates_begin(&rates, 1000 * MS);
    flow_rates_add(&rates, &known);
    flow_rates_end(&rates);
    assert_false(flow_rates_since(&rates, &other, 1500 * MS, &sent_bps, &received_bps));
    assert_false(flow_rates_since(&rates, &known, 1000 * MS, &sent_bps, &received_bps));
    assert_true(flow_rates_since(&rates, &reused, 2000 * MS, &sent_bps, &received_bps));
    assert_int_equal(sent_bps, 0);
    assert_int_equal(received_bps, 80);
    flow_rates_done(&rates);
}

static void a_reading_ripens_and_ages(void **state)
{
    struct flow_rates rates = {0};
    const struct flow_carried first = connection(1, 0, 0), second = connection(2, 0, 0);
    uint64_t sent_bps, received_bps;
    (void)state;
    assert_true(flow_rates_are_old(&rates, 1000 * MS));
    flow_rates_begin(&rates, 1000 * MS);
    flow_rates_add(&rates, &first);
    flow_rates_end(&rates);
    assert_false(flow_rates_are_old(&rates, 3000 * MS));
    assert_true(flow_rates_are_old(&rates, 3001 * MS));
    assert_int_equal(flow_rates_wait_ns(&rates, 1050 * MS), 150 * MS);
    assert_int_equal(flow_rates_wait_ns(&rates, 1200 * MS), 0);
    flow_rates_begin(&rates, 4000 * MS);
    flow_rates_add(&rates, &second);
    flow_rates_end(&rates);
    assert_false(flow_rates_since(&rates, &first, 4500 * MS, &sent_bps, &received_bps));
    assert_true(flow_rates_since(&rates, &second, 4500 * MS, &sent_bps, &received_bps));
    flow_rates_done(&rates);
}

static void it_is_bounded(void **state)
{
    struct flow_rates rates = {0};
    uint64_t sent_bps, received_bps;
    (void)state;
    flow_rates_begin(&rates, 1000 * MS);
    for (uint64_t i = 0; i < FLOW_RATES_MOST + 100; i++) {
        const struct flow_carried one = connection(i, 0, 0);
        flow_rates_add(&rates, &one);
    }
    flow_rates_end(&rates);
    assert_int_equal(rates.n, FLOW_RATES_MOST);
    const struct flow_carried last = connection(FLOW_RATES_MOST - 1, 0, 0),
                              beyond = connection(FLOW_RATES_MOST, 0, 0);
    assert_true(flow_rates_since(&rates, &last, 1500 * MS, &sent_bps, &received_bps));
    assert_false(flow_rates_since(&rates, &beyond, 1500 * MS, &sent_bps, &received_bps));
    flow_rates_done(&rates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_own_rate),
        cmocka_unit_test(what_was_not_read_has_none),
        cmocka_unit_test(a_reading_ripens_and_ages),
        cmocka_unit_test(it_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
