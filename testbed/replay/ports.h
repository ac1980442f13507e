/* The file of schemas/ports.md: the connections of one attempt, as it reports them.
 *
 * Each line is one write to a file opened for appending, so that a killed task leaves whole
 * lines. */
#pragma once

#include <stdint.h>

#include <netinet/in.h>

#include "lib/err.h"
#include "testbed/replay/input.h"

/* The two ends of a connection as text. */
struct ports_connection {
    char local[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN];
    uint16_t local_port, peer_port;
};

/* Writes a line, "connect", "open", "first" or "close", with the present time. −errno with a
 * sentence. */
int ports_write(int fd, const char *what, const struct ports_connection *connection,
                struct err *err);
