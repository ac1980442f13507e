/* What the agent's netlink files share: a routing socket, a dump, and errors as sentences
 * (libnl 3.7).
 *
 * Blocking, for one exchange with the kernel. A socket belongs to one thread and to the network
 * namespace in which it was opened. */
#pragma once

#include "lib/err.h"

#include <netlink/netlink.h>

/* The caller owns *ret_sock (nl_socket_free). Receive buffers are large enough for dumps of
 * hundreds of interfaces. */
int netlink_open(struct nl_sock **ret_sock, struct err *err);

/* Fills err with the words, ": " and libnl's own words; returns −errno for libnl's `error` (< 0).
 * −EAGAIN: a change interrupted the dump. */
__attribute__((format(printf, 3, 4))) int netlink_err(struct err *err, int error,
                                                      const char *format, ...);

/* Sends one dump request and gives every answer to `each`. Returns libnl's error, < 0. */
int netlink_dump(struct nl_sock *sock, int type, void *request, size_t bytes,
                 int (*each)(struct nl_msg *msg, void *arg), void *arg);
