/* Bounds how fast connections may begin from one address. WHY: a handshake takes 0.5 ms of the one
 * thread that serves all connections, and handshakes under way are served in turn, so with many of
 * them each step delays all messages.
 *
 * Each address has a token bucket (as in RFC 2697, of connections): PACE_BURST at once, then
 * PACE_PER_SECOND. PACE_PLACES addresses are kept, each at the place of its hash; an address that
 * evicts another begins with a full bucket, and so does the other when it comes back. Addresses
 * stand for hosts, as in wire_zmq_flood.h. Pure, O(1). */
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

/* Counts one more connection from `address` (flood_place_of). False: it is too fast, and not
 * counted. */
bool pace_take(struct pace *pace, const struct in6_addr *address, uint64_t now_usec);
/* Whether pace_take would return true. */
bool pace_has_room(const struct pace *pace, const struct in6_addr *address, uint64_t now_usec);
