#include "lib/unit_devices.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* As names of units: printable, and nothing that a list is made of. */
static int name_check(const char *text, struct err *err)
{
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c > '~' || strchr("/\"'\\,", *c))
            return err_set(err, EINVAL,
                           "'%s' cannot be a device's name: no blank, comma, slash or quote", text);
    return 0;
}

const struct conf_field unit_device_item = {
    .type = CONF_STRING, .size = sizeof(struct unit_device), .check = name_check};

int unit_device_beside(const void *items, uint32_t i, struct err *err)
{
    const struct unit_device *devices = items;
    for (uint32_t j = 0; j < i; j++)
        if (strcmp(devices[j].name, devices[i].name) == 0)
            return err_set(err, EINVAL, "the device %s is in this unit twice", devices[i].name);
    return 0;
}

int unit_devices_check(const struct unit_devices *devices, int64_t gpu_milli, int64_t gpu_mem_bytes,
                       struct err *err)
{
    const int64_t whole_milli = devices->n * UNIT_DEVICE_MILLI;
    if (devices->n <= 1)
        return gpu_milli <= UNIT_DEVICE_MILLI
                   ? 0
                   : err_set(err, EINVAL,
                             "gpu_milli is %" PRId64 ": it is per mille of one device, %" PRId64
                             " at most",
                             gpu_milli, UNIT_DEVICE_MILLI);
    if (gpu_milli && gpu_milli != whole_milli)
        return err_set(err, EINVAL,
                       "a unit of %u devices hands each out whole: its gpu_milli is %" PRId64
                       ", and need not be said",
                       devices->n, whole_milli);
    return gpu_mem_bytes ? err_set(err, EINVAL,
                                   "a unit of %u devices hands each out whole: memory of a device "
                                   "is said where the unit has one, which is shared",
                                   devices->n)
                         : 0;
}

int64_t unit_devices_milli(const struct unit_devices *devices, int64_t gpu_milli)
{
    return gpu_milli ? gpu_milli : devices->n * UNIT_DEVICE_MILLI;
}

const char *unit_devices_common(const struct unit_devices *one, const struct unit_devices *other)
{
    for (uint32_t i = 0; i < one->n; i++)
        for (uint32_t j = 0; j < other->n; j++)
            if (strcmp(one->at[i].name, other->at[j].name) == 0)
                return one->at[i].name;
    return NULL;
}
