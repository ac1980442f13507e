/* What receivers.bpf.c tells receivers_bpf.c of one socket. */
#pragma once

#include <linux/types.h>

/* A TCP connection over which its owner, one of the cgroups asked for, can still receive.
 * Addresses are 128 bits, IPv4 as v4-mapped; ports are in network order, everything else in host
 * order. */
struct receiver {
    __u8 local[16], peer[16];
    __u16 local_port, peer_port;
    __u32 receive_next; /* first byte that has not come: what the peer holds for unacknowledged */
    __u32 send_next;
    __u16 window; /* as its header carries it: scaled, and never less than was promised */
    __u8 level;   /* of its cgroup, as asked for */
    __u8 zero[5];
};
