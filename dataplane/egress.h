/* What the egress ports are, as their configuration has them and as an agent has set them, for the
 * control socket (pure; the worker has the queues). One thread. */
#pragma once

#include "dataplane/settings.h"
#include "lib/err.h"
#include "lib/port/plane_port.h"

struct egress_port {
    struct port_facts facts;
    struct port configured, now;
    char owner[sizeof(((duopoly_PlanePort *)0)->owner)]; /* "": it is as configured */
};

struct egress {
    uint32_t n;
    uint32_t
        packets_most; /* of all queues of a port together: there is memory for no more frames */
    struct egress_port ports[FASTPATH_PORTS];
};

/* Whether rate or queues of its place `i` are others. */
bool egress_differs(const struct egress *egress, const struct egress *others, uint32_t i);

void egress_write(const struct egress *egress, duopoly_PlanePorts *message);

/* What the message makes of the ports: all of *ret_egress, or nothing. −ENODEV: one is not ours;
 * −EBUSY: somebody else has set it; −E2BIG: there is no memory for so many packets; −EINVAL: it is no
 * port, is named twice, or nobody sets it. */
int egress_read(const struct egress *egress, const duopoly_SetPlanePorts *message,
                struct egress *ret_egress, struct err *err);
