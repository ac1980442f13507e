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
        slots_init(&slots, &unit, NULL, 1);
        for (int i = 0; i < 300; i++) {
            const duopoly_Resources demand = {.slots = (int64_t)(test_random(&stream) % 4),
                                              .mem_bytes = (int64_t)(test_random(&stream) % 200)};
            if (slots_fit(&slots, 0, &demand)) {
                assert_true(slots_possible(&slots, 0, &demand));
                assert_int_equal(slots_take(&slots, 0, &demand), 0);
                taken[n++] = demand;
            } else if (n && test_random(&stream) % 2) {
                slots_give(&slots, 0, &taken[--n], 0);
            }
            assert_true(slots.used[0].slots <= unit.slots);
            assert_true(slots.used[0].mem_bytes <= unit.mem_bytes);
        }
        while (n)
            slots_give(&slots, 0, &taken[--n], 0);
        assert_int_equal(slots.used[0].slots, 0);
        assert_int_equal(slots.used[0].mem_bytes, 0);
    }
}

static void test_what_can_never_fit(void **state)
{
    (void)state;
    const duopoly_Resources units[2] = {{.slots = 4}, {.slots = 1, .gpu_milli = 1000}};
    struct slots slots;
    slots_init(&slots, units, NULL, 2);
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
    slots_init(&slots, &unit, NULL, 1);
    slots_take_found(&slots, 0, &(duopoly_Resources){.slots = 3}, 0);
    assert_false(slots_fit(&slots, 0, &(duopoly_Resources){.slots = 1}));
    assert_true(slots_fit(&slots, 0, &(duopoly_Resources){.slots = 0}));
    slots_give(&slots, 0, &(duopoly_Resources){.slots = 3}, 0);
    assert_true(slots_fit(&slots, 0, &(duopoly_Resources){.slots = 2}));
}

/* Beside others, within its amounts; who demands nothing of it does not get it. */
static void test_one_device_is_shared(void **state)
{
    (void)state;
    const duopoly_Resources units[2] = {{.slots = 4},
                                        {.slots = 4, .gpu_milli = 1000, .gpu_mem_bytes = 8000}};
    const uint32_t devices[2] = {0, 1u << 3};
    const duopoly_Resources half = {.slots = 1, .gpu_milli = 500, .gpu_mem_bytes = 3000};
    struct slots slots;
    slots_init(&slots, units, devices, 2);
    assert_int_equal(slots_take(&slots, 0, &(duopoly_Resources){.slots = 1}), 0);
    assert_int_equal(slots_take(&slots, 1, &(duopoly_Resources){.slots = 1}), 0);
    assert_int_equal(slots_take(&slots, 1, &half), 1u << 3);
    assert_int_equal(slots_take(&slots, 1, &half), 1u << 3);
    assert_false(slots_fit(&slots, 1, &half));
    assert_int_equal(slots.holders[3], 2);
    slots_give(&slots, 1, &half, 1u << 3);
    assert_true(slots_fit(&slots, 1, &half));
}

/* One for each 1000 per mille or part of it; nobody else has it meanwhile. */
static void test_several_devices_are_handed_out_whole(void **state)
{
    (void)state;
    const duopoly_Resources unit = {.slots = 3, .gpu_milli = 3000};
    const uint32_t devices = 1u << 1 | 1u << 2 | 1u << 5;
    const duopoly_Resources part = {.slots = 1, .gpu_milli = 300},
                            two = {.slots = 1, .gpu_milli = 2000};
    struct slots slots;
    slots_init(&slots, &unit, &devices, 1);
    assert_false(slots_possible(&slots, 0, &(duopoly_Resources){.slots = 1, .gpu_milli = 3001}));
    assert_int_equal(slots_take(&slots, 0, &part), 1u << 1);
    assert_int_equal(slots_take(&slots, 0, &part), 1u << 2);
    assert_true(slots_possible(&slots, 0, &two));
    assert_false(slots_fit(&slots, 0, &two));
    slots_give(&slots, 0, &part, 1u << 1);
    assert_int_equal(slots_take(&slots, 0, &two), 1u << 1 | 1u << 5);
    assert_false(slots_fit(&slots, 0, &part));
    assert_true(slots_fit(&slots, 0, &(duopoly_Resources){.slots = 1}));
    slots_give(&slots, 0, &two, 1u << 1 | 1u << 5);
    slots_give(&slots, 0, &part, 1u << 2);
    assert_int_equal(slots.used[0].gpu_milli, 0);
    for (uint32_t d = 0; d < DEVICES_MAX; d++)
        assert_int_equal(slots.holders[d], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_over_the_total_and_all_comes_back),
        cmocka_unit_test(test_what_can_never_fit),
        cmocka_unit_test(test_a_found_attempt_may_overfill_and_nothing_fits_then),
        cmocka_unit_test(test_one_device_is_shared),
        cmocka_unit_test(test_several_devices_are_handed_out_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
