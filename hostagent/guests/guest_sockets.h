/* Counts what a guest received over its sockets, if it has no cgroup of its own (pure).
 *
 * Each sample lists its sockets and the bytes of each since it was opened. A closed socket stays
 * counted as last sampled, so what it received after that is missing. O(sockets). */
#pragma once

#include <stdint.h>

struct guest_socket_bytes {
    uint64_t inode, bytes;
};

/* Zero it first. */
struct guest_sockets {
    uint32_t n;
    struct guest_socket_bytes *all; /* owned, in order of inodes */
    uint64_t closed_bytes;
};

/* Takes `now`, allocated and sorted by inode. Returns the sum over all sockets, which never
 * falls. */
uint64_t guest_sockets_take(struct guest_sockets *sockets, struct guest_socket_bytes *now,
                            uint32_t n);
/* Frees what it owns. */
void guest_sockets_done(struct guest_sockets *sockets);
