/* The address at which other hosts reach this one: that from which it reaches its controller, since the
 * route to the one leads to the others, too. Where others cannot use that (the controller is on this host,
 * or is reached over one link's addresses), that of its uplink: IPv4 before IPv6. */
#pragma once

#include "hostagent/queues/queues.h"
#include "lib/reach.h"

#include <stdint.h>

/* IPv4 as v4-mapped. `uplink` may be "". Asks the kernel alone. −EADDRNOTAVAIL: there is none. */
int own_address_find(const struct reach_address *controller, const char *uplink,
                     const struct ports_found *ports, uint8_t ret_address[16]);
