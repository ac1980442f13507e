/* The devices of a unit, as configurations say them: hosts' agents and cluster files (pure).
 *
 * A unit has no device; or one, which is shared by per mille and memory; or several, which are
 * handed out whole. So the amounts of a unit are enough to know what fits: gpu_milli is 1000 at
 * most for one, 1000 for each of several, which have no gpu_mem_bytes; and no task's memory spans
 * two devices. */
#pragma once

#include "lib/conf.h"
#include "lib/err.h"

#include <stdint.h>

enum { UNIT_DEVICES_MAX = 16 };
#define UNIT_DEVICE_MILLI INT64_C(1000)

struct unit_devices {
    struct unit_device {
        char name[32];
    } at[UNIT_DEVICES_MAX];
    uint32_t n;
};

/* The list `devices` in the section of a structure `s` that has it as its member `devices`. */
#define UNIT_DEVICES_FIELD(s)                                                                      \
    {                                                                                              \
        .name = "devices", .type = CONF_LIST, .offset = offsetof(struct s, devices.at),            \
        .size = sizeof(struct unit_device), .max = UNIT_DEVICES_MAX, .item = &unit_device_item,    \
        .count_offset = offsetof(struct s, devices.n), .beside = unit_device_beside                \
    }
extern const struct conf_field unit_device_item;
int unit_device_beside(const void *items, uint32_t i, struct err *err);

/* Whether these amounts are of such a unit; 0 is not said. −EINVAL with a sentence. */
int unit_devices_check(const struct unit_devices *devices, int64_t gpu_milli, int64_t gpu_mem_bytes,
                       struct err *err);

/* What the unit has where its configuration does not say it. */
int64_t unit_devices_milli(const struct unit_devices *devices, int64_t gpu_milli);

/* The first device that both have; NULL: none. */
const char *unit_devices_common(const struct unit_devices *one, const struct unit_devices *other);
