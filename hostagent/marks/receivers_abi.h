/* What receivers.bpf.c reports to receivers_bpf.c about one socket. */
#pragma once

#include <linux/types.h>

/* A TCP connection over which its owner, one of the requested cgroups, can still receive. Addresses
 * are 128 bits, IPv4 as v4-mapped; ports are in network order, everything else in host order. */
struct receiver {
    __u8 local[16], peer[16];
    __u16 local_port, peer_port;
    __u32 receive_next; /* first byte that has not arrived: to the peer, the first unacknowledged
                         * one */
    __u32 send_next;
    __u16 window; /* as its header carries it: scaled, and never less than was promised */
    __u8 level;   /* of its cgroup, as requested */
    __u8 zero[5];
};
