/* Devices of a host that units hand out, such as GPUs: what the configuration and tasks call them,
 * and which of them are usable. A set of devices is a mask: bit d is the one with index d in the
 * configuration. */
#pragma once

#include <stdint.h>

#define DEVICES_MAX 16
#define DEVICE_WHY  192

struct device_driver;

struct device {
    char name[32];                      /* in the configuration; no two are equal */
    char at[64];                        /* which one its driver finds; "": its driver knows none */
    int64_t mem_bytes;                  /* 0: not known */
    const struct device_driver *driver; /* NULL in records of attempts */
};

struct devices_state {
    uint32_t closed; /* a unit that has one of these takes no new attempts */
    uint32_t gone;   /* of these, such that what has one has failed, by the host's fault */
    char why[DEVICES_MAX][DEVICE_WHY]; /* one sentence for each closed one */
};
