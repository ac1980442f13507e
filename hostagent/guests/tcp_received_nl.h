/* The bytes received over each TCP connection of this network namespace (NETLINK_SOCK_DIAG,
 * INET_DIAG_INFO; Linux ≥ 4.1), and which connections a process has (proc(5): fd).
 *
 * Payload since a connection was made, over the network only: none from this host itself. Changes
 * nothing. Blocking: 1 ms for a thousand connections, and a readlink for each descriptor of a
 * process. Bounds: TCP_RECEIVED_MOST connections; of a process so many descriptors. */
#pragma once

#include "hostagent/guests/guest_sockets.h"
#include "lib/err.h"

#include <sys/types.h>

#define TCP_RECEIVED_MOST 65536

struct tcp_received {
    uint32_t n, most;
    struct guest_socket_bytes *all; /* in order of inodes */
};

int tcp_received_read(struct tcp_received *ret_received, struct err *err);
void tcp_received_done(struct tcp_received *received);

/* Those of a process, allocated, sorted by inode. −ESRCH: it is gone; −EACCES: we may not read its
 * descriptors. */
int tcp_received_of(const struct tcp_received *received, pid_t pid,
                    struct guest_socket_bytes **ret_sockets, uint32_t *ret_n);
