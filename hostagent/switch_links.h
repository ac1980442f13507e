/* What the ports of a switch carry whose counters are not this machine's interfaces', told as
 * link_report.h tells it: sampled from its driver, where that can count (switch.h). One that does not
 * answer is left alone for a while. */
#pragma once

#include "hostagent/switches/switches.h"
#include "hostagent/uplink/uplink_zmq.h"

struct switch_links;

/* `switches` is borrowed until close. 0 and NULL where its driver does not count. */
int switch_links_open(struct switches *switches, struct switch_links **ret_links, struct err *err);
void switch_links_close(struct switch_links *links); /* takes NULL */

/* Ten times a second; an exchange with the switch. Takes NULL. */
void switch_links_sample(struct switch_links *links, struct uplink *uplink);

/* As link_report_forget. Takes NULL. */
void switch_links_forget(struct switch_links *links);
