#include "hostagent/devices/device_driver.h"

#include <stdio.h>
#include <string.h>

static const struct device_driver device_plain = {.name = "plain"};

const struct device_driver *const device_driver_all[] = {&device_plain, &device_nvidia, NULL};

const struct device_driver *device_driver_find(const char *name)
{
    for (size_t i = 0; device_driver_all[i]; i++)
        if (strcmp(device_driver_all[i]->name, name) == 0)
            return device_driver_all[i];
    return NULL;
}

const char *device_drivers_say(char *words, size_t size)
{
    *words = '\0';
    for (size_t i = 0; device_driver_all[i]; i++) {
        size_t used = strlen(words);
        snprintf(words + used, size - used, "%s%s", i ? ", " : "", device_driver_all[i]->name);
    }
    return words;
}
