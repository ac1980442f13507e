/* The address at which other hosts reach this one: the local address of the route to the
 * controller, since other hosts reach that too. If others cannot use it (the controller is on this
 * host, or is reached over a link-local address), the uplink's address: IPv4 before IPv6. */
#pragma once

#include "hostagent/queues/queues.h"
#include "lib/reach.h"

#include <stdint.h>

/* IPv4 as v4-mapped. `uplink` may be "". Asks only the kernel. −EADDRNOTAVAIL: there is none. */
int own_address_find(const struct reach_address *controller, const char *uplink,
                     const struct ports_found *ports, uint8_t ret_address[16]);
