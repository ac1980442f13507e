/* Tells the controller what the links of the agent's ports carry: samples of ten a second, changes
 * once a second (hostagent/links/link_table.h). */
#pragma once

#include "hostagent/links/links_nl.h"
#include "hostagent/settings.h"
#include "hostagent/uplink/uplink_zmq.h"

struct link_report;

/* Of the ports of `resolved`, which is borrowed, and whose ports must be these until it is closed. 0
 * and NULL without ports. */
int link_report_open(const struct settings_resolved *resolved, struct link_report **ret_report,
                     struct err *err);
void link_report_close(struct link_report *report); /* takes NULL */

/* What links_nl, of the same ports, has read last. */
void link_report_add(struct link_report *report, const struct links_nl *links,
                     struct uplink *uplink);

/* A session begins: all are to be told. Takes NULL. */
void link_report_forget(struct link_report *report);
