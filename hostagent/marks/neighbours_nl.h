/* The neighbours whose link addresses the kernel knows: hosts and routers on the same link
 * (rtnetlink; RFC 826, RFC 4861). */
#pragma once

#include "lib/err.h"

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#define NEIGHBOURS_MOST 4096 /* neighbours that are read */

struct neighbour {
    int ifindex;
    struct sockaddr_storage address; /* without a port; with the interface if it is link-local */
    socklen_t bytes;
};

/* Of all interfaces, IPv4 first; a packet to one of these is sent at once. The caller owns
 * *ret_neighbours (free). Blocks for two dumps. −errno. */
int neighbours_read(struct neighbour **ret_neighbours, uint32_t *ret_n, struct err *err);
