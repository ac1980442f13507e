/* Arithmetic on resource vectors (event.h). Pure, O(1). Sums wrap around: reported amounts may be
 * absurd, and subtracting what was added must restore the former sum. */
#pragma once

#include "controller/engine/event.h"

static inline void resources_add(struct resources *to, const struct resources *what)
{
    for (int i = 0; i < ENGINE_RESOURCES; i++)
        to->amount[i] = (int64_t)((uint64_t)to->amount[i] + (uint64_t)what->amount[i]);
}

static inline void resources_subtract(struct resources *from, const struct resources *what)
{
    for (int i = 0; i < ENGINE_RESOURCES; i++)
        from->amount[i] = (int64_t)((uint64_t)from->amount[i] - (uint64_t)what->amount[i]);
}

static inline bool resources_equal(const struct resources *a, const struct resources *b)
{
    for (int i = 0; i < ENGINE_RESOURCES; i++)
        if (a->amount[i] != b->amount[i])
            return false;
    return true;
}

static inline bool resources_are_nothing(const struct resources *resources)
{
    for (int i = 0; i < ENGINE_RESOURCES; i++)
        if (resources->amount[i])
            return false;
    return true;
}

/* A unit with more gpu_milli has several devices, which its host hands out whole, one for each
 * RESOURCES_DEVICE_MILLI. Whether it would have to split one. */
#define RESOURCES_DEVICE_MILLI 1000
static inline bool resources_split_device(const struct resources *total,
                                          const struct resources *demand)
{
    return total->amount[RES_GPU_MILLI] > RESOURCES_DEVICE_MILLI &&
           demand->amount[RES_GPU_MILLI] % RESOURCES_DEVICE_MILLI;
}

/* How many times `demand` fits into `free`: 0 when a resource is short, INT32_MAX for an empty
 * demand. */
static inline int64_t resources_times(const struct resources *free, const struct resources *demand)
{
    int64_t times = INT32_MAX;
    for (int i = 0; i < ENGINE_RESOURCES; i++) {
        if (demand->amount[i] <= 0)
            continue;
        int64_t here = free->amount[i] > 0 ? free->amount[i] / demand->amount[i] : 0;
        if (here < times)
            times = here;
    }
    return times;
}
