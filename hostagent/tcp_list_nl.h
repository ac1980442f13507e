/* This network namespace's TCP sockets, as the kernel lists them (sock_diag(7), libmnl 1.0.4). */
#pragma once

#include "lib/err.h"

#include <libmnl/libmnl.h>
#include <stdint.h>

/* Calls `each` with a message for every socket in one of `states` (one bit each, by the kernel's
 * numbers), IPv4 first, then IPv6: struct inet_diag_msg, then the attributes that `extensions` asks
 * for (inet_diag.h, a bit each). Blocks for one exchange with the kernel. −errno of the kernel or
 * of `each`. */
int tcp_list(uint32_t states, uint8_t extensions, mnl_cb_t each, void *user, struct err *err);
