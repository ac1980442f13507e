/* Counts, by address, the connections over which no message has come yet: a client without a key
 * can have only such connections. One address has at most UNHEARD_EIGHTHS eighths of what the
 * others leave, or one, so no address alone keeps the others out. For lib/wire_zmq* only. O(1)
 * expected; allocates. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define UNHEARD_EIGHTHS 7u

struct unheard; /* NULL: none */

/* Adds one, where `most` connections may exist and `all`, including this one, do. False: its
 * address has too many (it is counted even so), or there is no memory. */
bool unheard_add(struct unheard **unheard, const struct in6_addr *address, uint32_t most,
                 uint64_t all);
/* A message came over it, or it is gone. */
void unheard_remove(struct unheard **unheard, const struct in6_addr *address);
void unheard_done(struct unheard **unheard);
