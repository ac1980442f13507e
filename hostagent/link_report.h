/* Reports the load of the agent's ports to the controller: ten samples a second, changes once a
 * second (hostagent/links/link_table.h). */
#pragma once

#include "hostagent/links/link_table.h"
#include "hostagent/settings.h"
#include "hostagent/uplink/uplink_zmq.h"

struct link_report;

/* For `n` > 0 ports; name each one. */
int link_report_open(uint32_t n, struct link_report **ret_report, struct err *err);
void link_report_name(struct link_report *report, uint32_t place, const char *port,
                      uint64_t rate_bps);
/* Of the ports of `resolved`. 0 and NULL without ports. */
int link_report_open_resolved(const struct settings_resolved *resolved,
                              struct link_report **ret_report, struct err *err);
void link_report_close(struct link_report *report); /* takes NULL */

/* A sample of all ports, as link_table_add takes it. */
void link_report_add(struct link_report *report, uint64_t at_ns,
                     const struct link_counters *counters, struct uplink *uplink);

/* A session begins: report all of them again. Takes NULL. */
void link_report_forget(struct link_report *report);
