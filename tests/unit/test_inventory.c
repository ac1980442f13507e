/* What the controller keeps of switches: parts in order, rows within bounds, names in order. */
#include "tests/unit/test.h"

#include "controller/switch/inventory.h"

#include <string.h>

#define SECOND INT64_C(1000000000)

static duopoly_SwitchPart part_of(uint32_t number, uint32_t ports)
{
    duopoly_SwitchPart part = {.part = number, .ports = ports, .differs_ns = -1};
    strcpy(part.driver, "ovs");
    for (uint32_t i = 0; i < sizeof(part.port_rows) / sizeof(part.port_rows[0]); i++)
        if (number * 16 + i < ports)
            snprintf(part.port_rows[part.port_rows_count++].name, 64, "p%u", number * 16 + i);
    return part;
}

static void take(struct inventory *inventory, const char *name, uint32_t ports)
{
    for (uint32_t number = 0; number == 0 || number * 16 < ports; number++) {
        duopoly_SwitchPart part = part_of(number, ports);
        inventory_take(inventory, name, 5 * SECOND, &part);
    }
}

static void test_parts_become_one_switch(void **state)
{
    (void)state;
    struct inventory inventory = {0};
    take(&inventory, "sw1", 40);
    const struct inventory_switch *one = inventory_find(&inventory, "sw1");
    assert_non_null(one);
    assert_int_equal(one->ports_n, 40);
    assert_string_equal(one->ports[39].name, "p39");
    assert_string_equal(one->head.driver, "ovs");
    take(&inventory, "sw1", 3);
    assert_int_equal(inventory_find(&inventory, "sw1")->ports_n, 3);
    inventory_done(&inventory);
    inventory_done(&inventory);
}

static void test_names_stand_in_order_and_go(void **state)
{
    (void)state;
    static const char *const names[] = {"b", "d", "a", "c"};
    struct inventory inventory = {0};
    for (int i = 0; i < 4; i++)
        take(&inventory, names[i], 1);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(inventory.switches[i]->name[0], 'a' + (int)i);
    inventory_forget(&inventory, "b");
    inventory_forget(&inventory, "nobody");
    assert_null(inventory_find(&inventory, "b"));
    assert_non_null(inventory_find(&inventory, "c"));
    assert_int_equal(inventory.n, 3);
    inventory_done(&inventory);
}

static void test_rows_are_bounded(void **state)
{
    (void)state;
    struct inventory inventory = {0};
    take(&inventory, "sw1", INVENTORY_PORTS + 100);
    const struct inventory_switch *one = inventory_find(&inventory, "sw1");
    assert_int_equal(one->ports_n, INVENTORY_PORTS);
    assert_int_equal(one->head.ports, INVENTORY_PORTS + 100);
    inventory_done(&inventory);
}

static void test_times_go_on(void **state)
{
    (void)state;
    struct inventory inventory = {0};
    duopoly_SwitchPart part = {.steps = 2, .differs_ns = 3 * SECOND, .confirm_s = 60};
    inventory_take(&inventory, "sw1", 5 * SECOND, &part);
    const struct inventory_switch *one = inventory_find(&inventory, "sw1");
    assert_int_equal(inventory_differs_ns(one, 7 * SECOND), 5 * SECOND);
    assert_int_equal(inventory_confirm_s(one, 15 * SECOND), 50);
    assert_int_equal(inventory_confirm_s(one, 75 * SECOND), 0);
    part = (duopoly_SwitchPart){.differs_ns = -1};
    inventory_take(&inventory, "sw1", 8 * SECOND, &part);
    assert_int_equal(inventory_differs_ns(one, 9 * SECOND), -1);
    inventory_done(&inventory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_become_one_switch),
        cmocka_unit_test(test_names_stand_in_order_and_go),
        cmocka_unit_test(test_rows_are_bounded),
        cmocka_unit_test(test_times_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
