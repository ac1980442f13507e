#include "hostagent/guests/guest_sockets.h"

#include <stdlib.h>

/* One with fewer bytes than before is a new socket with a reused inode. */
static uint64_t closed_of(const struct guest_sockets *before, const struct guest_socket_bytes *now,
                          uint32_t n)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0, k = 0; i < before->n; i++) {
        while (k < n && now[k].inode < before->all[i].inode)
            k++;
        if (k == n || now[k].inode != before->all[i].inode || now[k].bytes < before->all[i].bytes)
            bytes += before->all[i].bytes;
    }
    return bytes;
}

uint64_t guest_sockets_take(struct guest_sockets *sockets, struct guest_socket_bytes *now,
                            uint32_t n)
{
    sockets->closed_bytes += closed_of(sockets, now, n);
    free(sockets->all);
    sockets->all = now;
    sockets->n = n;
    uint64_t bytes = sockets->closed_bytes;
    for (uint32_t i = 0; i < n; i++)
        bytes += now[i].bytes;
    return bytes;
}

void guest_sockets_done(struct guest_sockets *sockets)
{
    free(sockets->all);
    *sockets = (struct guest_sockets){0};
}
