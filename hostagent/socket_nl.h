/* One TCP socket of this network namespace, by its connection (sock_diag(7), libmnl 1.0.4; its
 * cgroup since Linux 5.9). */
#pragma once

#include "hostagent/marks/mark_abi.h"
#include "lib/err.h"

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>

struct socket_nl {
    struct mnl_socket *socket;
    uint32_t number; /* of the last request */
};

struct socket_seen {
    uint64_t cgroup;                     /* 0: the kernel does not say */
    bool counted;                        /* the following are known */
    uint64_t sent_bytes, received_bytes; /* content that the peer acknowledged, and that came */
};

int socket_nl_open(struct socket_nl *ret_sockets, struct err *err);
void socket_nl_close(struct socket_nl *sockets);

/* What a message of the kernel's list says (tcp_list_nl.h), if it was asked for INET_DIAG_INFO. */
void socket_nl_read(const struct nlmsghdr *message, struct mark_flow_key *ret_key,
                    struct socket_seen *ret_seen);

/* One exchange with the kernel. −ENOENT: there is none. */
int socket_nl_find(struct socket_nl *sockets, const struct mark_flow_key *key,
                   struct socket_seen *ret_seen);
