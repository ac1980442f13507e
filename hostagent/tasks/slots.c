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

void slots_init(struct slots *slots, const duopoly_Resources *units, uint32_t n)
{
    memset(slots, 0, sizeof(*slots));
    slots->units_n = n < SLOTS_UNITS ? n : SLOTS_UNITS;
    memcpy(slots->total, units, slots->units_n * sizeof(units[0]));
}

bool slots_possible(const struct slots *slots, uint32_t unit, const duopoly_Resources *demand)
{
    static const duopoly_Resources nothing;
    return unit < slots->units_n && fits(&slots->total[unit], &nothing, demand);
}

bool slots_fit(const struct slots *slots, uint32_t unit, const duopoly_Resources *demand)
{
    return unit < slots->units_n && fits(&slots->total[unit], &slots->used[unit], demand);
}

void slots_take(struct slots *slots, uint32_t unit, const duopoly_Resources *demand)
{
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

void slots_give(struct slots *slots, uint32_t unit, const duopoly_Resources *demand)
{
    if (unit >= slots->units_n)
        return;
    assert(slots_hold(&slots->used[unit], demand));
    add(&slots->used[unit], demand, -1);
}
