/* What a guest received by its sockets, where no cgroup of its own counts it (pure).
 *
 * Each look brings the sockets that it has and what came over each since it was opened; what one had
 * brought that is gone stays counted as it was seen last, so what came over it after that look is
 * missing. O(sockets). */
#pragma once

#include <stdint.h>

struct guest_socket_bytes {
    uint64_t inode, bytes;
};

/* Zero to begin with. */
struct guest_sockets {
    uint32_t n;
    struct guest_socket_bytes *all; /* owned, in order of inodes */
    uint64_t closed_bytes;
};

/* `now`, allocated and in order of inodes, is taken. Returns the bytes of all, which never fall. */
uint64_t guest_sockets_take(struct guest_sockets *sockets, struct guest_socket_bytes *now,
                            uint32_t n);
/* Frees what it owns. */
void guest_sockets_done(struct guest_sockets *sockets);
