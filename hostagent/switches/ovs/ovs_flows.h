/* The flows that put packets into the queues of ovs_rows.h: by DSCP, under a cookie of our own.
 *
 * They are in one table, 0 or the one that the site names, and forward as that table does anyway:
 * it must have exactly one other rule, for all packets, below ours, and ours copy its action
 * (NORMAL, or a jump to another table). So no packet bypasses somebody's rules. A table with other
 * rules is left alone (−EBUSY), and so is one without a jump to it. */
#pragma once

#include "hostagent/switches/ovs/openflow_link.h"
#include "hostagent/switches/switch.h"

#include <stdio.h>

#define OVS_FLOWS_MOST (4 * PORT_LEVELS)

/* "duop" and a digest of the owner's name. */
uint64_t ovs_cookie(const char *owner);

/* Adds steps to `plan`, and the changes to `changes` (of OPENFLOW_FLOWS + OVS_FLOWS_MOST). `want`
 * gives the queue numbers. −EAGAIN: table 0 is empty, as while a switch starts. */
int ovs_flows_plan(const struct openflow_table *have, const struct switch_config *config,
                   const struct port *want, struct switch_plan *plan,
                   struct openflow_change *changes, uint32_t *ret_n, struct err *err);

/* Lines of the flows of this table that are not ours. */
void ovs_flows_say(const struct openflow_table *have, const char *owner, FILE *out);
