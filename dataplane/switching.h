/* Where a switch sends a frame (IEEE 802.1Q §8.6, of one VLAN; pure). Stations are known by what they
 * sent (macs.h); what goes to all, to a group, or to a station that nobody knows is flooded, within a
 * limit for each port. What is for the switch's own link (01-80-C2-00-00-0x, §8.6.3) goes nowhere.
 *
 * A station that moves to and fro means a loop: the port that it came through last is shut for a time.
 * Nothing comes in there then, and nothing more joins its queues; the other ports go on. O(1) a frame. One thread. */
#pragma once

#include "dataplane/macs.h"
#include "lib/err.h"
#include "lib/port/plane_port.h"

#include <stdint.h>

#define SWITCHING_DROP  (-1)
#define SWITCHING_FLOOD (-2)

struct switching_settings {
    uint32_t ports; /* 2 to PLANE_PORTS */
    uint32_t macs;
    uint64_t age_ns;
    uint32_t moves;     /* of a station within a second, before its port is shut */
    uint64_t shut_ns;   /* so long */
    uint32_t flood_pps; /* frames of one port that are flooded, in a second */
};

struct switching_counters { /* of what came through one port */
    uint64_t flooded_packets;
    uint64_t over_limit_packets; /* that were not, for the limit */
    uint64_t
        filtered_packets;  /* that go nowhere: back where they came from, to the link itself, cut */
    uint64_t shut_packets; /* came through a port that is shut, or were for one */
    uint64_t shuts;        /* times that it was shut */
};

struct switching_port {
    struct switching_counters counters;
    uint64_t shut_until_ns;
    uint8_t mac[MACS_BYTES]; /* the station that it was shut for last */
    uint32_t other;          /* and the port that it came from */
    uint64_t credit, refilled_ns;
};

struct switching {
    struct switching_settings settings;
    struct macs *macs;
    uint64_t moved, full; /* stations, times */
    uint64_t shuts;       /* of all ports */
    struct switching_port ports[PLANE_PORTS];
};

int switching_open(struct switching *switching, const struct switching_settings *settings,
                   struct err *err);
/* Other times and limits from now on; ports and macs are as many as they were. */
void switching_change(struct switching *switching, const struct switching_settings *settings);
void switching_close(struct switching *switching); /* of zeros, too */

/* The egress of a frame whose first bytes are these, so many: a port, SWITCHING_FLOOD, or SWITCHING_DROP,
 * counted. `now_ns` > 0 never falls. */
int switching_target(struct switching *switching, uint32_t from, const uint8_t *frame,
                     uint32_t bytes, uint64_t now_ns);

/* A bit for each port that is not shut. O(ports). */
uint32_t switching_open_ports(const struct switching *switching, uint64_t now_ns);
