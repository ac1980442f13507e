/* Tells the controller of the switch that this agent manages: its ports, what they have not got as
 * wished, what would have to be done, and since when. Blocking as its driver. */
#pragma once

#include "hostagent/switches/switches.h"
#include "hostagent/uplink/uplink_zmq.h"

#define REPORT_STEPS 1024 /* told; the others are counted */

struct report {
    uint64_t differs_ns; /* CLOCK_MONOTONIC; 0: it is as it should be. Zero to begin with */
};

/* `confirm_s`: it goes back after so long; 0: it does not. Says nothing without a session. */
void report_tell(struct report *report, struct switches *switches, const struct port_wish *wish,
                 uint32_t confirm_s, struct uplink *uplink);
