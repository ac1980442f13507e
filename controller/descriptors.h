/* Shares out the process's descriptors at start, so that neither agents nor clients can use those
 * that the other, or the daemon itself, needs. */
#pragma once

#include "lib/err.h"

#include <stdint.h>

struct descriptors {
    uint64_t limit;
    uint32_t agents;  /* connections of agents */
    uint32_t clients; /* of the Unix socket */
};

/* Shares out `limit`, of which `others` (connections of other listeners) belong to neither; −EMFILE
 * if it is too small. A quarter, at most 1024, is kept in reserve, since the agents' listener
 * pauses a little late. */
int descriptors_share(uint64_t limit, uint32_t others, struct descriptors *ret_descriptors,
                      struct err *err);

/* Raises RLIMIT_NOFILE to its hard limit and shares it out. */
int descriptors_take(uint32_t others, struct descriptors *ret_descriptors, struct err *err);
