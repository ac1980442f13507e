/* Which driver is best for a port: every combination of what a kernel takes, rates and nudging. */
#include "tests/unit/test.h"

#include "hostagent/queues/auto.h"

#include <string.h>

#define GBPS UINT64_C(1000000000)

static const struct qdisc_driver *best(uint32_t can, uint64_t gbps, bool held, bool nudge)
{
    const struct auto_facts facts = {
        .can = can, .rate_bps = gbps * GBPS, .held = held, .nudge = nudge};
    char why[AUTO_WHY] = "";
    const struct qdisc_driver *driver = auto_choose(&facts, why);
    assert_in_range(strlen(why), 5, AUTO_WHY - 2);
    return driver;
}

/* What is chosen the kernel takes, and it wakes what is starved; where anything can, something
 * is. */
static void test_what_is_chosen_can_serve(void **state)
{
    (void)state;
    static const uint64_t rates[] = {0, 1, 10, 40, 400};
    for (uint32_t can = 0; can < 32; can++)
        for (uint32_t i = 0; i < 5 * 2 * 2; i++) {
            bool held = i & 1, nudge = i & 2;
            const struct qdisc_driver *driver = best(can, rates[i / 4], held, nudge);
            bool bands = nudge && can & (KERNEL_ETS | KERNEL_PRIO) && (!held || can & KERNEL_TBF);
            assert_int_equal(driver != NULL, bands || can & KERNEL_HTB);
            if (driver == &qdisc_htb)
                assert_true(can & KERNEL_HTB && !(bands && rates[i / 4] > 10));
            else if (driver)
                assert_true(bands && can & (driver == &qdisc_ets ? KERNEL_ETS : KERNEL_PRIO) &&
                            (rates[i / 4] > 10 || !(can & KERNEL_HTB)));
        }
}

static void test_named_cases(void **state)
{
    (void)state;
    const uint32_t all = KERNEL_HTB | KERNEL_PRIO | KERNEL_ETS | KERNEL_TBF | KERNEL_RED;
    assert_ptr_equal(best(all, 10, true, true), &qdisc_htb);
    assert_ptr_equal(best(all, 25, false, true), &qdisc_ets);
    assert_ptr_equal(best(all & ~(uint32_t)KERNEL_ETS, 25, false, true), &qdisc_prio);
    assert_ptr_equal(best(all, 25, false, false), &qdisc_htb);
    assert_ptr_equal(best(KERNEL_PRIO, 1, false, true), &qdisc_prio);
    assert_null(best(KERNEL_PRIO, 1, false, false));
    assert_null(best(KERNEL_PRIO, 1, true, true));
    assert_null(best(0, 1, false, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_chosen_can_serve),
        cmocka_unit_test(test_named_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
