/* The neighbours that the kernel knows the way to: hosts and routers on the same link
 * (rtnetlink; RFC 826, RFC 4861). */
#pragma once

#include "lib/err.h"

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#define NEIGHBOURS_MOST 4096 /* that are looked at */

struct neighbour {
    int ifindex;
    struct sockaddr_storage address; /* without a port; with the interface where it is link-local */
    socklen_t bytes;
};

/* Of all interfaces, IPv4 first; a packet to one leaves at once. *ret_neighbours is the caller's (free).
 * Blocking for a dump of each. −errno. */
int neighbours_read(struct neighbour **ret_neighbours, uint32_t *ret_n, struct err *err);
