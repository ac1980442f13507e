#include "hostagent/tasks/slots.h"

#include "lib/invariant.h"

#include <string.h>

#define KINDS 6

struct amounts {
    int64_t of[KINDS];
};

static struct amounts amounts_of(const duopoly_Resources *r)
{
    return (struct amounts){
        {r->slots, r->cpu_milli, r->mem_bytes, r->gpu_milli, r->gpu_mem_bytes, r->io_bytes_s}};
}

static void add(duopoly_Resources *used, const duopoly_Resources *demand, int64_t sign)
{
    used->slots += sign * demand->slots;
    used->cpu_milli += sign * demand->cpu_milli;
    used->mem_bytes += sign * demand->mem_bytes;
    used->gpu_milli += sign * demand->gpu_milli;
    used->gpu_mem_bytes += sign * demand->gpu_mem_bytes;
    used->io_bytes_s += sign * demand->io_bytes_s;
}

static bool fits(const duopoly_Resources *total, const duopoly_Resources *used,
                 const duopoly_Resources *demand)
{
    struct amounts have = amounts_of(total), gone = amounts_of(used), want = amounts_of(demand);
    for (int kind = 0; kind < KINDS; kind++)
        if (want.of[kind] < 0 ||
            (want.of[kind] > 0 && want.of[kind] > have.of[kind] - gone.of[kind]))
            return false;
    return true;
}

void slots_init(struct slots *slots, const duopoly_Resources *units, const uint32_t *devices,
                uint32_t n)
{
    memset(slots, 0, sizeof(*slots));
    slots->units_n = n < SLOTS_UNITS ? n : SLOTS_UNITS;
    memcpy(slots->total, units, slots->units_n * sizeof(units[0]));
    if (devices)
        memcpy(slots->devices, devices, slots->units_n * sizeof(devices[0]));
}

static bool is_shared(uint32_t devices)
{
    return (devices & (devices - 1)) == 0;
}

/* Of devices that are handed out whole. */
static uint32_t devices_wanted(const duopoly_Resources *demand)
{
    return demand->gpu_milli > DEVICES_MAX * INT64_C(1000)
               ? DEVICES_MAX + 1
               : (uint32_t)((demand->gpu_milli + 999) / 1000);
}

static uint32_t devices_free(const struct slots *slots, uint32_t unit)
{
    uint32_t devices = slots->devices[unit];
    for (uint32_t d = 0; d < DEVICES_MAX; d++)
        if (slots->holders[d])
            devices &= ~(1u << d);
    return devices;
}

static bool devices_suffice(uint32_t unit_devices, uint32_t devices,
                            const duopoly_Resources *demand)
{
    return is_shared(unit_devices) ||
           devices_wanted(demand) <= (uint32_t)__builtin_popcount(devices);
}

bool slots_possible(const struct slots *slots, uint32_t unit, const duopoly_Resources *demand)
{
    static const duopoly_Resources nothing;
    return unit < slots->units_n && fits(&slots->total[unit], &nothing, demand) &&
           devices_suffice(slots->devices[unit], slots->devices[unit], demand);
}

bool slots_fit(const struct slots *slots, uint32_t unit, const duopoly_Resources *demand)
{
    return unit < slots->units_n && fits(&slots->total[unit], &slots->used[unit], demand) &&
           devices_suffice(slots->devices[unit], devices_free(slots, unit), demand);
}

/* The shared one, or the first of those that are free. */
static uint32_t devices_choose(const struct slots *slots, uint32_t unit,
                               const duopoly_Resources *demand)
{
    const uint32_t all = slots->devices[unit];
    uint32_t wanted = devices_wanted(demand), free = devices_free(slots, unit), chosen = 0;
    if (is_shared(all))
        return demand->gpu_milli > 0 || demand->gpu_mem_bytes > 0 ? all : 0;
    for (; wanted && free; wanted--) {
        chosen |= free & -free;
        free &= free - 1;
    }
    return chosen;
}

static void devices_hold(struct slots *slots, uint32_t devices, int sign)
{
    for (uint32_t d = 0; d < DEVICES_MAX; d++)
        if (devices >> d & 1)
            slots->holders[d] += (uint32_t)sign;
}

uint32_t slots_take(struct slots *slots, uint32_t unit, const duopoly_Resources *demand)
{
    const uint32_t devices = unit < slots->units_n ? devices_choose(slots, unit, demand) : 0;
    slots_take_found(slots, unit, demand, devices);
    return devices;
}

void slots_take_found(struct slots *slots, uint32_t unit, const duopoly_Resources *demand,
                      uint32_t devices)
{
    devices_hold(slots, devices, 1);
    if (unit < slots->units_n)
        add(&slots->used[unit], demand, 1);
}

/* Only what was taken can be given back. */
static bool slots_hold(const duopoly_Resources *used, const duopoly_Resources *demand)
{
    struct amounts have = amounts_of(used), back = amounts_of(demand);
    for (int kind = 0; kind < KINDS; kind++)
        if (back.of[kind] > have.of[kind])
            return false;
    return true;
}

void slots_give(struct slots *slots, uint32_t unit, const duopoly_Resources *demand,
                uint32_t devices)
{
    devices_hold(slots, devices, -1);
    if (unit >= slots->units_n)
        return;
    assert(slots_hold(&slots->used[unit], demand));
    add(&slots->used[unit], demand, -1);
}
