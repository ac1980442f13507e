/* Counters of interfaces (RTM_GETSTATS with LINK_64): 2.5 µs for one, half a per cent of what
 * reading sysfs takes; several are read in one dump, 0.25 µs for each interface of the
 * namespace. */
#pragma once

#include "hostagent/links/link_table.h"
#include "hostagent/links/links.h"
#include "lib/err.h"

struct links_nl;

/* Of `n` > 0 interfaces of this network namespace by their numbers, all different. */
int links_nl_open(const int *ifindexes, uint32_t n, struct links_nl **ret_links, struct err *err);
void links_nl_close(struct links_nl *links); /* takes NULL */

/* Reads them now. −ENODATA: some have not reported theirs. O(interfaces of the namespace · log
 * n). */
int links_nl_read(struct links_nl *links, struct err *err);

/* As read last: when (CLOCK_MONOTONIC), each of them in the order of links_nl_open, borrowed; their
 * sums. */
uint64_t links_nl_at_ns(const struct links_nl *links);
const struct link_counters *links_nl_counters(const struct links_nl *links);
struct links_sample links_nl_sum(const struct links_nl *links);
