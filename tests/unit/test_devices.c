/* Devices of a host: every kind keeps the contract, and what is found of them closes units. With a
 * library of NVIDIA's that is there, tests/net/test_nvml.py. */
#include "tests/unit/test.h"

#include "hostagent/devices/device_watch.h"

#include <stdbool.h>
#include <string.h>

static void test_every_kind_keeps_the_contract(void **state)
{
    (void)state;
    for (size_t i = 0; device_driver_all[i]; i++) {
        const struct device_driver *driver = device_driver_all[i];
        assert_ptr_equal(device_driver_find(driver->name), driver);
        assert_int_equal(driver->look != NULL, driver->at != NULL);
        assert_int_equal(driver->look != NULL, driver->open != NULL);
        assert_int_equal(driver->look != NULL, driver->close != NULL);
    }
    assert_null(device_driver_find("abacus"));
}

static struct device_watch *look(const struct device *devices, uint32_t n)
{
    const struct device_watch_config config = {.devices = devices, .devices_n = n};
    struct device_watch *made;
    struct err err = {0};
    if (device_watch_open(&config, NULL, &made, &err) < 0)
        fail_msg("%s", err.text);
    return made;
}

static void test_what_nobody_looks_at_is_there(void **state)
{
    (void)state;
    const struct device plain[2] = {{.name = "a", .driver = device_driver_find("plain")},
                                    {.name = "b", .driver = device_driver_find("plain")}};
    struct devices_state found;
    struct device_watch *devices = look(plain, 2);
    device_watch_judge(devices, &found);
    assert_int_equal(found.closed, 0);
    assert_int_equal(found.gone, 0);
    device_watch_close(devices);
    device_watch_close(NULL);
}

/* A driver that cannot look says why; units are closed, and what runs there runs on. */
static void test_what_nobody_knows_is_not_gone(void **state)
{
    (void)state;
    const struct device mixed[2] = {
        {.name = "a", .driver = device_driver_find("plain")},
        {.name = "g", .at = "GPU-1", .driver = device_driver_find("nvidia")}};
    struct devices_state found;
    struct device_watch *devices = look(mixed, 2);
    if (device_watch_looks(devices)[1].presence == DEVICE_UNKNOWN) {
        device_watch_judge(devices, &found);
        assert_int_equal(found.closed, 1u << 1);
        assert_int_equal(found.gone, 0);
        assert_memory_equal(found.why[1], "device g, nobody knows of it: NVML ", 35);
    } /* else this machine has NVIDIA's driver */
    assert_int_equal(device_watch_looks(devices)[0].presence, DEVICE_THERE);
    device_watch_close(devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_keeps_the_contract),
        cmocka_unit_test(test_what_nobody_looks_at_is_there),
        cmocka_unit_test(test_what_nobody_knows_is_not_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
