/* The state that outlives a data plane that dies: its flows, mode and lease, in a mapped file
 * beside its control socket, which costs nothing per packet. The next data plane continues with
 * them.
 *
 * A file of another boot, layout version, or number of flows or parts is replaced by an empty one.
 * The folder should be on a tmpfs, as /run is; on Linux 4.8 and later its memory is of huge pages
 * where /sys/kernel/mm/transparent_hugepage/shmem_enabled says `advise` or more. One owner at a
 * time: take the control socket first. */
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

/* Makes or takes over <socket>.flows, for `flows_most` flows in `parts` tables of one size; all
 * memory is allocated then. −errno with a sentence that names the file: −ENOSPC if the file system
 * lacks 64 bytes for each flow. */
int kept_open(const char *socket, uint32_t flows_most, uint32_t parts, struct kept **ret_kept,
              struct err *err);
void kept_close(struct kept *kept); /* the file stays; takes NULL */
