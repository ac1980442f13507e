/* Connections over which no message came yet, by the address that they come from: who has no key can have
 * only such. One address has UNHEARD_EIGHTHS of what all others leave at most, or one, so that nobody keeps
 * others out alone; each further address has as much of the rest. For lib/wire_zmq* only. O(1) expected; allocates. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define UNHEARD_EIGHTHS 7u

struct unheard; /* NULL: none */

/* One more, where there may be `most` connections and are `all`, with it. False: that is more than its
 * address may have, or there is no memory; it counts all the same in the first case. */
bool unheard_add(struct unheard **unheard, const struct in6_addr *address, uint32_t most,
                 uint64_t all);
/* It was heard, or is gone. */
void unheard_remove(struct unheard **unheard, const struct in6_addr *address);
void unheard_done(struct unheard **unheard);
