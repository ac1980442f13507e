#include "controller/clients/listing_place.h"

#include "lib/fnv1a.h"

#include <string.h>

/* A cursor: the identity's lowest bits, place + 1, row. */
enum { ROW_BITS = 19, PLACE_BITS = 21, IDENTITY_SHIFT = ROW_BITS + PLACE_BITS };
#define MASK(bits_)   ((UINT64_C(1) << (bits_)) - 1)
#define IDENTITY_MASK MASK(64 - IDENTITY_SHIFT)

static bool agent_at(const void *list, uint32_t place, uint64_t *ret_identity)
{
    struct agent_view agent;
    if (agents_at(list, place, &agent) < 0)
        return false;
    *ret_identity = fnv1a(FNV1A_NOTHING, agent.name, strlen(agent.name));
    return true;
}

struct listing_order listing_agents(const struct agents *agents)
{
    return (struct listing_order){agent_at, agents};
}

uint64_t listing_cursor(const struct listing_order *order, uint32_t place, uint32_t row)
{
    uint64_t identity = 0;
    order->at(order->list, place, &identity);
    return (identity & IDENTITY_MASK) << IDENTITY_SHIFT |
           ((place + UINT64_C(1)) & MASK(PLACE_BITS)) << ROW_BITS | (row & MASK(ROW_BITS));
}

static bool stands(const struct listing_order *order, uint32_t place, uint64_t identity)
{
    uint64_t is;
    return order->at(order->list, place, &is) && (is & IDENTITY_MASK) == identity;
}

/* `place`, or the first place after all entries if that is less. */
static uint32_t within(const struct listing_order *order, uint32_t place)
{
    uint32_t least = 0, most = place;
    uint64_t identity;
    while (least < most) {
        uint32_t middle = least + (most - least + 1) / 2;
        if (order->at(order->list, middle - 1, &identity))
            least = middle;
        else
            most = middle - 1;
    }
    return least;
}

uint32_t listing_resume(const struct listing_order *order, uint64_t cursor, uint32_t *ret_row)
{
    const uint64_t identity = cursor >> IDENTITY_SHIFT;
    const uint32_t next = (uint32_t)(cursor >> ROW_BITS & MASK(PLACE_BITS));
    *ret_row = (uint32_t)(cursor & MASK(ROW_BITS));
    if (!next)
        return 0;
    const uint32_t place = within(order, next - 1);
    for (uint32_t away = 0; away <= LISTING_AWAY; away++) {
        if (stands(order, place + away, identity))
            return place + away;
        if (away <= place && stands(order, place - away, identity))
            return place - away;
    }
    *ret_row = 0; /* it has left: the next one is at its place */
    return place;
}
