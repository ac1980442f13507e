#include "tests/unit/test.h"

#include "hostagent/tasks/slots.h"

/* Property: what fits is taken, never beyond the total, and giving all back leaves the unit as it
 * was. */
static void test_never_over_the_total_and_all_comes_back(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int round = 0; round < 200; round++) {
        const duopoly_Resources unit = {.slots = (int64_t)(test_random(&stream) % 9),
                                        .mem_bytes = (int64_t)(test_random(&stream) % 1000)};
        struct slots slots;
        duopoly_Resources taken[300];
        int n = 0;
        slots_init(&slots, &unit, 1);
        for (int i = 0; i < 300; i++) {
            const duopoly_Resources demand = {.slots = (int64_t)(test_random(&stream) % 4),
                                              .mem_bytes = (int64_t)(test_random(&stream) % 200)};
            if (slots_fit(&slots, 0, &demand)) {
                assert_true(slots_possible(&slots, 0, &demand));
                slots_take(&slots, 0, &demand);
                taken[n++] = demand;
            } else if (n && test_random(&stream) % 2) {
                slots_give(&slots, 0, &taken[--n]);
            }
            assert_true(slots.used[0].slots <= unit.slots);
            assert_true(slots.used[0].mem_bytes <= unit.mem_bytes);
        }
        while (n)
            slots_give(&slots, 0, &taken[--n]);
        assert_int_equal(slots.used[0].slots, 0);
        assert_int_equal(slots.used[0].mem_bytes, 0);
    }
}

static void test_what_can_never_fit(void **state)
{
    (void)state;
    const duopoly_Resources units[2] = {{.slots = 4}, {.slots = 1, .gpu_milli = 1000}};
    struct slots slots;
    slots_init(&slots, units, 2);
    assert_false(slots_possible(&slots, 0, &(duopoly_Resources){.slots = 5}));
    assert_false(slots_possible(&slots, 0, &(duopoly_Resources){.gpu_milli = 1}));
    assert_false(slots_possible(&slots, 2, &(duopoly_Resources){.slots = 1}));
    assert_false(slots_possible(&slots, 0, &(duopoly_Resources){.slots = -1}));
    assert_true(slots_possible(&slots, 1, &(duopoly_Resources){.slots = 1, .gpu_milli = 1000}));
}

static void test_a_found_attempt_may_overfill_and_nothing_fits_then(void **state)
{
    (void)state;
    const duopoly_Resources unit = {.slots = 2};
    struct slots slots;
    slots_init(&slots, &unit, 1);
    slots_take(&slots, 0, &(duopoly_Resources){.slots = 3});
    assert_false(slots_fit(&slots, 0, &(duopoly_Resources){.slots = 1}));
    assert_true(slots_fit(&slots, 0, &(duopoly_Resources){.slots = 0}));
    slots_give(&slots, 0, &(duopoly_Resources){.slots = 3});
    assert_true(slots_fit(&slots, 0, &(duopoly_Resources){.slots = 2}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_over_the_total_and_all_comes_back),
        cmocka_unit_test(test_what_can_never_fit),
        cmocka_unit_test(test_a_found_attempt_may_overfill_and_nothing_fits_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
