/* Makes connections to members use DCTCP by a metric of their routes (RFC 8257; the metric
 * RTAX_CC_ALGO, Linux 4.0, `congctl` of ip-route(8)): the kernel then asks for ECN, too, whatever
 * net.ipv4.tcp_ecn is.
 *
 * Only routes of the main table that lead to members alone are changed: those whose prefix is
 * within a member prefix. A default route leads elsewhere too; if members are reached by one, give
 * them a route of their own. Not changed either: routes that name a congestion control already,
 * that expire (router advertisements), or that use nexthop objects. The rest of a route stays as it
 * is, and a restore does not undo changes that its owner made meanwhile.
 *
 * Our changes are recorded in the state folder beforehand. Blocking, for a dump of the routes;
 * O(routes × members); one thread, in the network namespace of the caller. */
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
    uint32_t members_n;                /* 0: no change */
};

/* What routes_apply would change. */
int routes_plan(const struct routes_config *config, struct changes *changes, struct err *err);

/* *ret_n: how many routes to members use DCTCP now, ours and others'. −EINVAL if the kernel has no
 * DCTCP. Changes before a failure are recorded. */
int routes_apply(const struct routes_config *config, uint32_t *ret_n, struct err *err);

/* Undoes what is recorded; does nothing without a record. */
int routes_restore(const char *state_dir, struct err *err);
