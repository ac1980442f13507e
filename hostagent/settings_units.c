#include "hostagent/settings_units.h"

#include "hostagent/devices/device_driver.h"
#include "lib/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define WORD(s, member, preset_, check_)                                                           \
    {                                                                                              \
        .name = #member, .type = CONF_STRING, .offset = offsetof(struct s, member),                \
        .size = sizeof(((struct s *)0)->member), .preset = (preset_), .check = (check_)            \
    }
#define AMOUNT(s, member, name_, type_, preset_, max_)                                             \
    {                                                                                              \
        .name = (name_), .type = (type_), .offset = offsetof(struct s, member), .max = (max_),     \
        .preset = (preset_)                                                                        \
    }

static int check_name(const char *text, const char *whose, struct err *err)
{
    return !*text || (wire_name_valid(text) && !strchr(text, ','))
               ? 0
               : err_set(err, EINVAL, "'%s' cannot be %s: no blank, comma, slash or quote", text,
                         whose);
}

static int unit_name_check(const char *text, struct err *err)
{
    return check_name(text, "a unit's name", err);
}

static int device_name_check(const char *text, struct err *err)
{
    return check_name(text, "a device's name", err);
}

static int at_check(const char *text, struct err *err)
{
    return check_name(text, "what a device is found by", err);
}

static const struct conf_field device_fields[] = {
    WORD(settings_device, name, NULL, device_name_check),
    WORD(settings_device, kind, "plain", NULL),
    WORD(settings_device, at, "", at_check),
    AMOUNT(settings_device, mem_bytes, "memory", CONF_BYTES, "0 B", INT64_MAX),
    {0},
};

static int device_check(const void *structure, struct err *err)
{
    const struct settings_device *device = structure;
    const struct device_driver *driver = device_driver_find(device->kind);
    char words[128];
    if (!driver)
        return err_set(err, EINVAL, "there is no kind of device \"%s\" (%s)", device->kind,
                       device_drivers_say(words, sizeof(words)));
    if (!driver->at == !*device->at)
        return 0;
    return driver->at ? err_set(err, EINVAL, "%s is of kind %s, so `at` says which it is: %s",
                                device->name, driver->name, driver->at)
                      : err_set(err, EINVAL, "%s is of kind %s, which knows no `at`", device->name,
                                driver->name);
}

static const struct conf_section device_section = {device_fields, sizeof(struct settings_device),
                                                   device_check};
const struct conf_field settings_device_item = {.type = CONF_SECTION, .section = &device_section};

int settings_device_beside(const void *items, uint32_t i, struct err *err)
{
    const struct settings_device *devices = items;
    for (uint32_t j = 0; j < i; j++) {
        if (strcmp(devices[j].name, devices[i].name) == 0)
            return err_set(err, EINVAL, "two devices are called %s", devices[i].name);
        if (*devices[i].at && strcmp(devices[j].kind, devices[i].kind) == 0 &&
            strcmp(devices[j].at, devices[i].at) == 0)
            return err_set(err, EINVAL, "%s and %s are one device: both are at %s", devices[j].name,
                           devices[i].name, devices[i].at);
    }
    return 0;
}

static const struct conf_field unit_fields[] = {
    WORD(settings_unit, name, "", unit_name_check),
    AMOUNT(settings_unit, slots, "slots", CONF_INT, "0", 1000000),
    AMOUNT(settings_unit, cpu_milli, "cpu_milli", CONF_INT, "0", INT64_MAX),
    AMOUNT(settings_unit, mem_bytes, "memory", CONF_BYTES, "0 B", INT64_MAX),
    AMOUNT(settings_unit, gpu_milli, "gpu_milli", CONF_INT, "0", INT64_MAX),
    AMOUNT(settings_unit, gpu_mem_bytes, "gpu_memory", CONF_BYTES, "0 B", INT64_MAX),
    AMOUNT(settings_unit, io_bytes_s, "io_bytes_s", CONF_INT, "0", INT64_MAX),
    UNIT_DEVICES_FIELD(settings_unit),
    {.name = "", .type = CONF_PLACE, .offset = offsetof(struct settings_unit, place)},
    {0},
};

static int unit_check(const void *structure, struct err *err)
{
    const struct settings_unit *unit = structure;
    return unit_devices_check(&unit->devices, unit->gpu_milli, unit->gpu_mem_bytes, err);
}

static const struct conf_section unit_section = {unit_fields, sizeof(struct settings_unit),
                                                 unit_check};
const struct conf_field settings_unit_item = {.type = CONF_SECTION, .section = &unit_section};

static const char *unit_says(const struct settings_unit *units, uint32_t i, char words[64])
{
    if (*units[i].name)
        snprintf(words, 64, "unit %s", units[i].name);
    else
        snprintf(words, 64, "unit %u", i);
    return words;
}

int settings_unit_beside(const void *items, uint32_t i, struct err *err)
{
    const struct settings_unit *units = items;
    char words[2][64];
    for (uint32_t j = 0; j < i; j++) {
        const char *both = unit_devices_common(&units[i].devices, &units[j].devices);
        if (*units[i].name && strcmp(units[i].name, units[j].name) == 0)
            return err_set(err, EINVAL, "two units are called %s", units[i].name);
        if (both)
            return err_set(err, EINVAL, "the device %s is in two units: %s and %s", both,
                           unit_says(units, j, words[0]), unit_says(units, i, words[1]));
    }
    return 0;
}

const struct settings_device *settings_find_device(const struct agent_settings *settings,
                                                   const char *name)
{
    for (uint32_t d = 0; d < settings->devices_n; d++)
        if (strcmp(settings->devices[d].name, name) == 0)
            return &settings->devices[d];
    return NULL;
}

int settings_unit_among(const void *structure, uint32_t i, struct err *err)
{
    const struct agent_settings *settings = structure;
    const struct settings_unit *unit = &settings->units[i];
    const struct settings_device *device = NULL;
    char words[64];
    for (uint32_t d = 0; d < unit->devices.n; d++)
        if (!(device = settings_find_device(settings, unit->devices.at[d].name)))
            return err_set(err, EINVAL, "%s has the device %s, which is not in `devices`",
                           unit_says(settings->units, i, words), unit->devices.at[d].name);
    return !device || !device->mem_bytes || unit->gpu_mem_bytes <= device->mem_bytes
               ? 0
               : err_set(err, EINVAL,
                         "%s has more gpu_memory than its device %s, which has %" PRId64 " B",
                         unit_says(settings->units, i, words), device->name, device->mem_bytes);
}
