/* Reports the switch that this agent manages to the controller: its ports, what they lack of what
 * is wished, the steps still to do, and since when. Blocks as the driver does. */
#pragma once

#include "hostagent/switches/switches.h"
#include "hostagent/uplink/uplink_zmq.h"

#define REPORT_STEPS 1024 /* steps that are reported; the rest are counted */

struct report {
    uint64_t differs_ns; /* since when it differs, CLOCK_MONOTONIC; 0: it is as wished. Zero it
                          * first */
};

/* `confirm_s`: seconds until the change is undone by itself; 0: never. Does nothing without a
 * session. */
void report_tell(struct report *report, struct switches *switches, const struct port_wish *wish,
                 uint32_t confirm_s, struct uplink *uplink);
