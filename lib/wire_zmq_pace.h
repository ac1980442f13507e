/* How fast connections may begin from one address. WHY: a handshake takes the one thread that
 * serves all connections 0.5 ms, and those that are under way at once are served in turn, so each
 * of a crowd's steps delays everybody's messages.
 *
 * A bucket (RFC 2697's, of connections) for each address: PACE_BURST at once, PACE_PER_SECOND from
 * then on. PACE_PLACES addresses are remembered, each at the place that its bits say; one that
 * takes another's place begins with a full bucket, and so does the other when it comes back.
 * Addresses stand for hosts, as in wire_zmq_flood.h. Pure, O(1). */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define PACE_BURST      32
#define PACE_PER_SECOND 100
#define PACE_PLACES     1024

struct pace_place {
    struct in6_addr address;
    uint64_t full_usec; /* when its bucket is full again */
};

struct pace {
    struct pace_place places[PACE_PLACES];
};

/* One more connection from `address` (flood_place_of); false: that is too fast, and it does not
 * count. */
bool pace_take(struct pace *pace, const struct in6_addr *address, uint64_t now_usec);
/* Whether pace_take would say true. */
bool pace_has_room(const struct pace *pace, const struct in6_addr *address, uint64_t now_usec);
