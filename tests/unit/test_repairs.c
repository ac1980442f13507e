/* How often somebody's changes are put right (hostagent/repairs.h). */
#include "tests/unit/test.h"

#include "hostagent/repairs.h"

#include <stdio.h>

#define SECOND 1000000000ull

static void test_each_port_has_its_own_five_in_a_minute(void **state)
{
    (void)state;
    struct repairs repairs = {0};
    for (uint64_t i = 0; i < REPAIRS_MOST; i++)
        assert_true(repairs_may(&repairs, "p0", (1 + i) * SECOND));
    assert_false(repairs_is_left(&repairs, "p0"));
    assert_false(repairs_may(&repairs, "p0", 60 * SECOND));
    assert_true(repairs_is_left(&repairs, "p0"));
    assert_true(repairs_may(&repairs, "p1", 60 * SECOND));
    assert_false(repairs_is_left(&repairs, "p1"));
    assert_false(repairs_may(&repairs, "p0", 3600 * SECOND));
    repairs_forget(&repairs);
    assert_true(repairs_may(&repairs, "p0", 3600 * SECOND));
    repairs_forget(&repairs);
}

static void test_a_minute_without_any_counts_anew(void **state)
{
    (void)state;
    struct repairs repairs = {0};
    for (uint64_t i = 0; i < 100; i++)
        assert_true(repairs_may(&repairs, "p0", (1 + 12 * i) * SECOND));
    repairs_forget(&repairs);
}

static void test_it_is_bounded_and_forgets_what_is_old(void **state)
{
    (void)state;
    struct repairs repairs = {0};
    char name[32];
    repairs_leave(&repairs, "left");
    for (int i = 1; i < REPAIRS_PORTS; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        assert_true(repairs_may(&repairs, name, SECOND));
    }
    assert_false(repairs_may(&repairs, "one more", 2 * SECOND));
    assert_true(repairs_may(&repairs, "one more", 62 * SECOND));
    assert_true(repairs_is_left(&repairs, "left"));
    repairs_forget(&repairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_port_has_its_own_five_in_a_minute),
        cmocka_unit_test(test_a_minute_without_any_counts_anew),
        cmocka_unit_test(test_it_is_bounded_and_forgets_what_is_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
