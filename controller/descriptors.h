/* How many descriptors there are, and for whom. The limit of the process is shared out at start, so
 * that neither agents nor clients can take those that the other, or the daemon itself, needs. */
#pragma once

#include "lib/err.h"

#include <stdint.h>

struct descriptors {
    uint64_t limit;
    uint32_t agents;  /* connections of agents */
    uint32_t clients; /* of the Unix socket */
};

/* Shares out `limit`; −EMFILE if it is too small to begin with. A quarter, at most 1024, stays
 * spare: the agents' listener pauses a little late. */
int descriptors_share(uint64_t limit, struct descriptors *ret_descriptors, struct err *err);

/* Raises RLIMIT_NOFILE to its hard limit and shares it out. */
int descriptors_take(struct descriptors *ret_descriptors, struct err *err);
