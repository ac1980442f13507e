/* Who sends too much, and from where: a connection may bring so many messages in each second, and
 * an address from which one brought more is shut out for a while.
 *
 * Counted are whole seconds from a connection's first message in each, so that a burst as large as
 * the bound passes. Addresses stand for hosts: where many peers share one (a loopback), a flood by
 * one of them keeps the others' *new* connections out as well. At most FLOOD_PLACES addresses are
 * remembered; beyond, the one that was shut out the longest ago is let in again. Pure, O(1) for a
 * message and O(FLOOD_PLACES) for a connection. */
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

/* The address alone; of IPv4 the mapped one (RFC 4291 §2.5.5.2). */
struct in6_addr flood_place_of(const struct sockaddr_in6 *address);

/* `address`: of either family; its port is not looked at. */
void flood_places_shut(struct flood_places *places, const struct sockaddr_in6 *address,
                       uint64_t now_usec);
bool flood_places_is_shut(const struct flood_places *places, const struct sockaddr_in6 *address,
                          uint64_t now_usec);
