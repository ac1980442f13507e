/* Finds the connections over which tasks receive, with the numbers that a peer must be told to make
 * it send again.
 *
 * These are TCP connections that a task's cgroup opened (mark.h: the end that opened it marks),
 * over which it can still receive, from peers in the member prefixes: exactly those that the
 * marking programs' flow table has as opened by this host. One pass walks all sockets of the
 * caller's network namespace (2 ms here, also for a few: the kernel's hash table is walked) and
 * blocks for that long; each socket's numbers are those of the moment at which the pass reaches it.
 *
 * Needs a kernel with BTF and BPF iterators (Linux ≥ 5.15; Debian 12 has both). One thread. */
#pragma once

#include "hostagent/marks/promote.h"
#include "hostagent/marks/receivers_abi.h"
#include "lib/err.h"

#include <stdint.h>

struct receivers;

/* `bpffs`: where an open mark driver has its maps (struct mark_config). */
int receivers_open(const char *bpffs, struct receivers **ret_receivers, struct err *err);
void receivers_close(struct receivers *receivers); /* takes NULL */

/* The connections of `tasks` (at most MARK_TASKS; the last level of a cgroup counts) over which no
 * payload has come with their task's level since that was first asked for (one without timestamps
 * is always included), in no particular order, each with that level; *ret_more counts those beyond
 * `most`. */
int receivers_find(struct receivers *receivers, const struct promote_task *tasks, uint32_t tasks_n,
                   struct receiver *ret_found, uint32_t most, uint32_t *ret_n, uint32_t *ret_more,
                   struct err *err);
