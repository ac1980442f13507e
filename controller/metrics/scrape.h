/* What /metrics shows: all counters, the state of the cluster, how long things take, and hosts one
 * by one. docs/operate/install.md lists it. */
#pragma once

#include "controller/clients/listing.h"

/* The text (exposition.h), `*ret_size` bytes; the caller frees it. The first `hosts_most` hosts and
 * switches in the order of names have series of their own; what the others count is summed as host
 * "*". NULL: out of memory. O(hosts). */
char *scrape(const struct listing_sources *sources, uint32_t hosts_most, size_t *ret_size);

/* Why the controller takes no work now, as a clause; NULL: it is ready. */
const char *scrape_unready(const struct conductor_parts *parts);
