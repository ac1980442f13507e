#include "lib/wire_zmq_flood.h"

#include <string.h>

struct in6_addr flood_place_of(const struct sockaddr_in6 *address)
{
    struct in6_addr place = address->sin6_addr;
    if (address->sin6_family == AF_INET) {
        place = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
        memcpy(&place.s6_addr[12], &((const struct sockaddr_in *)address)->sin_addr, 4);
    }
    return place;
}

static int find(const struct flood_places *places, const struct in6_addr *place)
{
    for (int i = 0; i < FLOOD_PLACES; i++)
        if (memcmp(&places->places[i].address, place, sizeof(*place)) == 0)
            return i;
    return -1;
}

static int oldest(const struct flood_places *places)
{
    int at = 0;
    for (int i = 1; i < FLOOD_PLACES; i++)
        if (places->places[i].until_usec < places->places[at].until_usec)
            at = i;
    return at;
}

void flood_places_shut(struct flood_places *places, const struct sockaddr_in6 *address,
                       uint64_t now_usec)
{
    struct in6_addr place = flood_place_of(address);
    int at = find(places, &place);
    if (at < 0)
        at = oldest(places);
    places->places[at].address = place;
    places->places[at].until_usec = now_usec + FLOOD_SHUT_USEC;
}

bool flood_places_is_shut(const struct flood_places *places, const struct sockaddr_in6 *address,
                          uint64_t now_usec)
{
    struct in6_addr place = flood_place_of(address);
    int at = find(places, &place);
    return at >= 0 && now_usec < places->places[at].until_usec;
}
