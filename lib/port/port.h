/* What an egress port should be (pure): the site's wish and the port's facts in, wanted queues out.
 *
 * One description for every driver, host and switch: queues in order of their priority, each with
 * what it serves, a guaranteed share, a length and an ECN threshold. How a data path brings that
 * about (HTB's rates that add up, a switch's queue numbers) is its driver's affair (qdisc.h).
 *
 * Ten kinds of traffic come to a port: control, levels 0 to 7 (0 most urgent), unmanaged. A port
 * with fewer levels serves the higher ones in its last. A queue is served when those of smaller
 * priority are empty; its floor is guaranteed all the same, so that a starved flow's packets keep
 * trickling and its acknowledgements can carry a new mark. Level 0 has no floor: it comes first.
 *
 * Nothing here allocates; O(queues). */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define PORT_LEVELS  8
#define PORT_TRAFFIC (PORT_LEVELS + 2)
#define PORT_NAME    16 /* bytes of an interface's name with its NUL */

/* Kinds of traffic, in order of urgency. */
enum port_traffic { TRAFFIC_CONTROL = 0, TRAFFIC_LEVEL0 = 1, TRAFFIC_UNMANAGED = PORT_TRAFFIC - 1 };

/* What the site wants of every port. */
struct port_wish {
    uint64_t link_bps; /* > 0: what is shaped to */
    uint32_t levels; /* 1…8. 1: all managed traffic in one queue as long as the eight together */
    uint32_t queue_packets;      /* ≥ 1: length of each queue */
    uint32_t floor_permille;     /* of the link, for each level but the first */
    uint32_t unmanaged_permille; /* guaranteed to unmanaged traffic */
    uint32_t control_permille;
};

/* What a port is. */
struct port_facts {
    uint32_t mtu_bytes; /* ≥ 1, without the link layer's header */
};

enum port_queue_kind { QUEUE_CONTROL, QUEUE_LEVEL, QUEUE_UNMANAGED };

struct port_queue {
    enum port_queue_kind kind;
    uint32_t level;       /* of QUEUE_LEVEL: the most urgent that it serves */
    uint32_t priority;    /* 0 is served first; all differ */
    uint64_t floor_bps;   /* guaranteed; 0: none */
    uint32_t packets;     /* length */
    uint32_t ecn_packets; /* longer than this, packets that can carry ECN are marked; 0: never */
};

struct port {
    uint64_t link_bps;
    uint32_t mtu_bytes;
    uint32_t queues_n;
    struct port_queue queues[PORT_TRAFFIC]; /* in order of priority */
    uint8_t queue_of[PORT_TRAFFIC];         /* index of the queue that serves it */
};

/* −EINVAL when shares leave less than a floor to level 0, or a number is out of its range. */
int port_want(const struct port_wish *wish, const struct port_facts *facts, struct port *ret_port,
              struct err *err);
