/* What /metrics shows: all counters, the state of the cluster, how long things take, and hosts one
 * by one. docs/operate/install.md lists it.
 *
 * A text is made in steps, so that the controller does its other work between: each number is read
 * when it is written, and hosts come and go meanwhile. None is there twice, and none that stays is
 * missing. */
#pragma once

#include "controller/clients/listing.h"

struct scraping;

/* Begins a text (exposition.h). The first `hosts_most` hosts and switches in the order of names
 * have series of their own; what the others count is summed as host "*". `sources` is borrowed
 * until the end. NULL: out of memory. */
struct scraping *scrape_begin(const struct listing_sources *sources, uint32_t hosts_most);
/* One step, which takes less than 100 us; whether there are more. In all O(hosts). */
bool scrape_go_on(struct scraping *scraping);
/* The text, `*ret_size` bytes, when the last step is done; the caller frees it. NULL: out of
 * memory, now or before. Ends the scraping. */
char *scrape_end(struct scraping *scraping, size_t *ret_size);
/* Ends it without a text; NULL is fine. */
void scrape_drop(struct scraping *scraping);

/* Why the controller takes no work now, as a clause; NULL: it is ready. */
const char *scrape_unready(const struct conductor_parts *parts);
