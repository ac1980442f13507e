/* Reports the load of a switch's ports whose counters are not this machine's interfaces', as
 * link_report.h does: sampled from the switch driver, if it can count (switch.h). A switch that
 * does not answer is not asked for a while. */
#pragma once

#include "hostagent/switches/switches.h"
#include "hostagent/uplink/uplink_zmq.h"

struct switch_links;

/* `switches` is borrowed until close. Returns 0 and NULL if the driver does not count. */
int switch_links_open(struct switches *switches, struct switch_links **ret_links, struct err *err);
void switch_links_close(struct switch_links *links); /* takes NULL */

/* Call it ten times a second; one exchange with the switch. Takes NULL. */
void switch_links_sample(struct switch_links *links, struct uplink *uplink);

/* As link_report_forget. Takes NULL. */
void switch_links_forget(struct switch_links *links);
