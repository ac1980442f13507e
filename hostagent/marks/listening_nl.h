/* The TCP ports with a listener in this network namespace (sock_diag, libmnl). */
#pragma once

#include "lib/err.h"

#include <stdint.h>

/* In network order, each once or more; *ret_ports is the caller's (free). One dump, which walks the
 * kernel's listening sockets only. */
int listening_ports(uint16_t **ret_ports, uint32_t *ret_n, struct err *err);
