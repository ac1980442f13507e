/* The flows that put packets into the queues of ovs_rows.h: by DSCP, under a cookie of our own.
 *
 * They stand in one table, 0 or the one that the site names, and do what that table does anyhow:
 * there must be one other rule, for all packets, below ours, whose way they copy (to NORMAL, or on
 * to another table). So nothing is led past somebody's rules; a table with other rules in it is
 * left alone (−EBUSY), and so is one that nobody jumps to. */
#pragma once

#include "hostagent/switches/ovs/openflow_link.h"
#include "hostagent/switches/switch.h"

#include <stdio.h>

#define OVS_FLOWS_MOST (4 * PORT_LEVELS)

/* "duop" and a digest of the owner's name. */
uint64_t ovs_cookie(const char *owner);

/* Adds steps to `plan`, and what has to be done to `changes` (of OPENFLOW_FLOWS + OVS_FLOWS_MOST).
 * `want` numbers the queues. −EAGAIN: table 0 is empty, as while a switch begins. */
int ovs_flows_plan(const struct openflow_table *have, const struct switch_config *config,
                   const struct port *want, struct switch_plan *plan,
                   struct openflow_change *changes, uint32_t *ret_n, struct err *err);

/* Lines of the flows of this table that are not ours. */
void ovs_flows_say(const struct openflow_table *have, const char *owner, FILE *out);
