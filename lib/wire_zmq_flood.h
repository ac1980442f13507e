/* Bounds messages: a connection may bring a number of messages in each second, and an address that
 * exceeds this is shut out for a while.
 *
 * A second is counted from the connection's first message in it, so a burst as large as the bound
 * passes. An address stands for a host: where many peers share one (loopback), a flood by one of
 * them also keeps the others' new connections out. At most FLOOD_PLACES addresses are remembered;
 * beyond that, the one that was shut out longest ago is let in again. Pure; O(1) for a message,
 * O(FLOOD_PLACES) for a connection. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define FLOOD_PLACES    64
#define FLOOD_SHUT_USEC 20000000u

struct flood_count {
    uint64_t since_usec;
    uint32_t messages;
};

/* One more message; false: that is more than `most`. */
static inline bool flood_count_add(struct flood_count *count, uint32_t most, uint64_t now_usec)
{
    if (now_usec - count->since_usec >= 1000000)
        *count = (struct flood_count){.since_usec = now_usec};
    return ++count->messages <= most;
}

struct flood_places {
    struct {
        struct in6_addr address;
        uint64_t until_usec; /* 0: free */
    } places[FLOOD_PLACES];
};

/* The address alone; an IPv4 address as v4-mapped (RFC 4291 §2.5.5.2). */
struct in6_addr flood_place_of(const struct sockaddr_in6 *address);

/* `address` may be of either family; its port is ignored. */
void flood_places_shut(struct flood_places *places, const struct sockaddr_in6 *address,
                       uint64_t now_usec);
bool flood_places_is_shut(const struct flood_places *places, const struct sockaddr_in6 *address,
                          uint64_t now_usec);
