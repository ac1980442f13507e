/* The egress ports, as configured and as an agent has set them, for the control socket (pure; the
 * workers have the queues). One thread. */
#pragma once

#include "dataplane/settings.h"
#include "lib/err.h"
#include "lib/port/port_message.h"

struct egress_port {
    struct port_facts facts;
    struct port configured, now;
    char owner[sizeof(((duopoly_DataplanePort *)0)->owner)]; /* "": it is as configured */
};

struct egress {
    uint32_t n;
    uint32_t
        packets_most; /* of all queues of a port together: there is no memory for more frames */
    struct egress_port ports[FASTPATH_PORTS];
};

/* Whether the rate or the queues of port `i` differ. */
bool egress_differs(const struct egress *egress, const struct egress *others, uint32_t i);

void egress_write(const struct egress *egress, duopoly_DataplanePorts *message);

/* What the ports become by this message: all of *ret_egress, or nothing. −ENODEV: one is not ours;
 * −EBUSY: another agent has set it; −E2BIG: no memory for so many packets; −EINVAL: a port is
 * invalid or named twice, or the message names no owner. */
int egress_read(const struct egress *egress, const duopoly_SetDataplanePorts *message,
                struct egress *ret_egress, struct err *err);
