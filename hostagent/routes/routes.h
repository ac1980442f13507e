/* Routes by which connections to members use DCTCP (RFC 8257; the metric RTAX_CC_ALGO, Linux 4.0,
 * `congctl` of ip-route(8)): the kernel then asks for ECN, too, whatever net.ipv4.tcp_ecn is.
 *
 * Only routes of the main table that lead to members alone are touched: those whose prefix lies
 * within a member prefix. A default route leads elsewhere too; who reaches members by one gives
 * them a route of its own. Left alone as well: routes that name a congestion control already, that
 * run out (router advertisements), and that are put together from nexthop objects. All else of a
 * route stays as it is, and what its owner changes in the meantime is not undone by a restore.
 *
 * What is ours is recorded in the state folder before it is changed. Blocking, for a dump of the
 * routes; O(routes × members); one thread, in the network namespace of the caller. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/mark.h"
#include "lib/err.h"

#include <stdint.h>

#define ROUTES_RECORD "%s/routes"
#define ROUTES_MOST   4096 /* to members */

struct routes_config {
    const char *state_dir;
    const struct mark_prefix *members; /* borrowed */
    uint32_t members_n;                /* 0: nothing is touched */
};

/* What routes_apply would change. */
int routes_plan(const struct routes_config *config, struct changes *changes, struct err *err);

/* *ret_n: how many routes to members use DCTCP now, ours and others'. −EINVAL where the kernel has
 * no DCTCP. What has been changed before a failure is recorded. */
int routes_apply(const struct routes_config *config, uint32_t *ret_n, struct err *err);

/* Takes back what is recorded; nothing where nothing is. */
int routes_restore(const char *state_dir, struct err *err);
