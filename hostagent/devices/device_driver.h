/* Kinds of devices: who knows whether one is there. A driver is one file and one entry of
 * device_driver_all.
 *
 * A driver that looks is called in a process of its own only (device_watch.h), since what it asks
 * may hang, or crash. */
#pragma once

#include "hostagent/devices/device.h"
#include "lib/err.h"

#include <stddef.h>
#include <stdint.h>

enum device_presence {
    DEVICE_THERE,
    DEVICE_GONE,   /* whoever knows says so */
    DEVICE_UNKNOWN /* nobody knows */
};

/* What was found. */
struct device_look {
    enum device_presence presence;
    int64_t mem_bytes;    /* of one that is there; 0: not known */
    char why[DEVICE_WHY]; /* of one that is not: one sentence */
};

struct device_driver {
    const char *name;
    /* What `at` is in the configuration, in words; NULL: it says nothing there, nobody looks, and a
     * device of this kind is what the configuration says of it. Then all below is NULL, too. */
    const char *at;
    /* NULL: it cannot look at anything; the sentence says why. */
    void *(*open)(struct err *err);
    /* May block. One that is not there is looked for again after another open. */
    void (*look)(void *opened, const char *at, struct device_look *ret_look);
    void (*close)(void *opened);
};

extern const struct device_driver device_nvidia;

extern const struct device_driver *const device_driver_all[]; /* ends with NULL */

/* NULL: there is none of that name. */
const struct device_driver *device_driver_find(const char *name);
/* The names of all, separated by commas. Returns `words`. */
const char *device_drivers_say(char *words, size_t size);
