/* The port of a connection: the interface of the route from its address here to its peer
 * (RTM_GETROUTE of rtnetlink(7), libmnl 1.0.4). WHY the route's: the kernel tells a socket's own
 * interface only of sockets that are bound to one. Where routes have several ways, it is the one
 * for these two addresses. */
#pragma once

#include "hostagent/marks/mark_abi.h"
#include "lib/err.h"

#include <libmnl/libmnl.h>
#include <net/if.h>
#include <stdint.h>

struct route_port {
    struct mnl_socket *socket;
    uint32_t number; /* of the last request */
};

int route_port_open(struct route_port *ret_routes, struct err *err);
void route_port_close(struct route_port *routes);

/* One exchange with the kernel. −errno: there is no route, or its interface is gone. */
int route_port_find(struct route_port *routes, const struct mark_flow_key *key,
                    char ret_port[IF_NAMESIZE]);
