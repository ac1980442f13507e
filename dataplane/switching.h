/* Decides where a switch sends a frame (IEEE 802.1Q §8.6, one VLAN; pure). Stations are learned
 * from their frames (macs.h); frames to all, to a group, or to an unknown station are flooded,
 * within a limit for each port. Frames for the link itself (01-80-C2-00-00-0x, §8.6.3) are not
 * forwarded.
 *
 * A station that moves back and forth indicates a loop: the port through which it came last is shut
 * for a time. Meanwhile no frame is accepted from it, and none joins its queues; the other ports
 * continue. O(1) a frame. One thread. */
#pragma once

#include "dataplane/macs.h"
#include "lib/err.h"
#include "lib/port/port_message.h"

#include <stdint.h>

#define SWITCHING_DROP  (-1)
#define SWITCHING_FLOOD (-2)

struct switching_settings {
    uint32_t ports; /* 2 to PORT_MESSAGES */
    uint32_t macs;
    uint64_t age_ns;
    uint32_t moves;     /* of a station within a second, before its port is shut */
    uint64_t shut_ns;   /* for this long */
    uint32_t flood_pps; /* flooded frames of one port, in a second */
};

struct switching_counters { /* of what came through one port */
    uint64_t flooded_packets;
    uint64_t over_limit_packets; /* not flooded because of the limit */
    uint64_t
        filtered_packets;  /* not forwarded: their port is where they came from, they are for the
                            * link itself, or cut */
    uint64_t shut_packets; /* came through a shut port, or were for one */
    uint64_t shuts;        /* times that it was shut */
};

struct switching_port {
    struct switching_counters counters;
    uint64_t shut_until_ns;
    uint8_t mac[MACS_BYTES]; /* the station because of which it was shut last */
    uint32_t other;          /* and the port that it came from */
    uint64_t credit, refilled_ns;
};

struct switching {
    struct switching_settings settings;
    struct macs *macs;
    uint64_t moved, full; /* stations, times */
    uint64_t shuts;       /* of all ports */
    struct switching_port ports[PORT_MESSAGES];
};

int switching_open(struct switching *switching, const struct switching_settings *settings,
                   struct err *err);
/* Changes times and limits; the numbers of ports and stations stay. */
void switching_change(struct switching *switching, const struct switching_settings *settings);
void switching_close(struct switching *switching); /* of zeros, too */

/* The egress of a frame that begins with these bytes: a port, SWITCHING_FLOOD, or SWITCHING_DROP,
 * which is counted. `now_ns` > 0 never falls. */
int switching_target(struct switching *switching, uint32_t from, const uint8_t *frame,
                     uint32_t bytes, uint64_t now_ns);

/* A bit for each port that is not shut. O(ports). */
uint32_t switching_open_ports(const struct switching *switching, uint64_t now_ns);
