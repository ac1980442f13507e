/* What outlives a data plane that dies: its flows, mode and lease, in a file beside its control socket
 * which it maps and writes to in passing, at no cost a packet. Who is started next goes on with them.
 *
 * Of another boot, another version of this layout or another number of flows or parts, it begins empty. The
 * folder should be on a tmpfs, as /run is; on Linux 4.8 and later its memory is of huge pages where
 * /sys/kernel/mm/transparent_hugepage/shmem_enabled says `advise` or more. One owner at a time: the
 * control socket is taken before. */
#pragma once

#include "dataplane/flows.h"
#include "lib/err.h"

#include <stdatomic.h>
#include <stdint.h>

struct kept {
    uint8_t boot[16];
    uint32_t layout, flows_most, parts;
    _Atomic uint32_t mode;      /* 0 or 1 */
    _Atomic uint64_t expiry_ns; /* of the lease, CLOCK_BOOTTIME */
    struct flow flows[];        /* on lines of their own */
};

/* Makes or takes <socket>.flows, for so many flows in so many tables of one size, of which all memory is there afterwards. −errno with a sentence that
 * names the file: −ENOSPC where the file system has no room for 64 bytes a flow. */
int kept_open(const char *socket, uint32_t flows_most, uint32_t parts, struct kept **ret_kept,
              struct err *err);
void kept_close(struct kept *kept); /* the file stays; takes NULL */
