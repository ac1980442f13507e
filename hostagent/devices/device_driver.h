/* Kinds of devices: who knows whether one is there. A driver is one file and one entry of
 * device_driver_all. */
#pragma once

#include <stddef.h>

struct device_driver {
    const char *name;
    /* What `at` is in the configuration, in words; NULL: it says nothing there, and a device of this
     * kind is what the configuration says of it. */
    const char *at;
};

extern const struct device_driver *const device_driver_all[]; /* ends with NULL */

/* NULL: there is none of that name. */
const struct device_driver *device_driver_find(const char *name);
/* The names of all, separated by commas. Returns `words`. */
const char *device_drivers_say(char *words, size_t size);
