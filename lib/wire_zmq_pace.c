#include "lib/wire_zmq_pace.h"

#include "lib/fnv1a.h"

#include <string.h>

#define COST_USEC (1000000 / PACE_PER_SECOND)

static size_t place_of(const struct in6_addr *address)
{
    return fnv1a(FNV1A_NOTHING, address, sizeof(*address)) % PACE_PLACES;
}

/* When the bucket would be full after one more. */
static uint64_t full_after(const struct pace *pace, const struct in6_addr *address,
                           uint64_t now_usec)
{
    const struct pace_place *place = &pace->places[place_of(address)];
    bool is_its = memcmp(&place->address, address, sizeof(*address)) == 0;
    uint64_t from = is_its && place->full_usec > now_usec ? place->full_usec : now_usec;
    return from + COST_USEC;
}

bool pace_has_room(const struct pace *pace, const struct in6_addr *address, uint64_t now_usec)
{
    return full_after(pace, address, now_usec) <= now_usec + PACE_BURST * COST_USEC;
}

bool pace_take(struct pace *pace, const struct in6_addr *address, uint64_t now_usec)
{
    if (!pace_has_room(pace, address, now_usec))
        return false;
    pace->places[place_of(address)] =
        (struct pace_place){.address = *address, .full_usec = full_after(pace, address, now_usec)};
    return true;
}
