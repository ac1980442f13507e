/* Decides an egress port's queues (pure), from the site's wish and the port's facts.
 *
 * Every data path uses this description: Linux hosts and switches, Open vSwitch, SONiC,
 * configurations written for people to type. It lists queues in order of priority, each with the
 * traffic it serves, a guaranteed share, a length and an ECN threshold. Each driver decides how to
 * configure that (HTB's rates that add up, a switch's own queue numbers).
 *
 * A port serves ten kinds of traffic: control, levels 0 to 7 (0 is the most urgent), unmanaged. A
 * site with fewer levels serves the higher ones in its last. A queue is served when all queues
 * before it are empty; its floor is guaranteed even so, so that a starved flow sends a few packets
 * and its acknowledgements can carry a new mark. The queue of level 0 has no floor: it is served
 * first.
 *
 * A port with too few queues serves several kinds in one (it folds): control joins level 0, then
 * unmanaged traffic joins the level that the site names, then neighbouring levels share, the least
 * urgent first. A shared queue has the floors and lengths of everything it serves. Lossless (PFC)
 * queues belong to other traffic and are never used. What a port cannot do is left out of its
 * queues and reported (port_compromises). A port that serves its queues in hardware runs at its own
 * speed if that is below the wished rate.
 *
 * ECN thresholds lie on the line through the two of the DCTCP paper (Alizadeh et al., SIGCOMM 2010,
 * 3.1): 20 packets at 1 Gb/s, 65 at 10 Gb/s; at most half of a queue. RED is by Floyd and Jacobson
 * (IEEE/ACM Trans. Networking 1(4), 1993), with marks as in RFC 3168.
 *
 * Nothing here allocates; O(queues). */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PORT_LEVELS       8
#define PORT_TRAFFIC      (PORT_LEVELS + 2)
#define PORT_QUEUES       32 /* of a port */
#define PORT_CODE_POINTS  64
#define PORT_DSCP_CONTROL 48   /* CS6 */
#define PORT_RED_MOST     1023 /* packets, as rte_red has it */
#define PORT_NAME         16   /* bytes of an interface's name with its NUL */
#define PORT_TEXT         400  /* bytes that port_compromises needs at most */
#define PORT_LONG_NAME    64   /* of a port of any data path */
#define PORT_RATES        32

/* Kinds of traffic, in order of urgency. */
enum port_traffic { TRAFFIC_CONTROL = 0, TRAFFIC_LEVEL0 = 1, TRAFFIC_UNMANAGED = PORT_TRAFFIC - 1 };

/* Ports whose names match a pattern (port_names.h) have a rate of their own, for example a leaf's
 * uplinks. */
struct port_rate {
    char ports[PORT_LONG_NAME];
    int64_t rate_bps; /* ≥ 0, as link_bps */
};

/* The site's wish, for every port. */
struct port_wish {
    uint64_t link_bps;                  /* rate to shape to; 0: the link's own speed */
    struct port_rate rates[PORT_RATES]; /* the first that matches replaces link_bps */
    uint32_t rates_n;
    uint32_t levels; /* 1…8. 1: all managed traffic in one queue, as long as the eight together */
    uint32_t queue_packets;             /* ≥ 2: length of each queue */
    uint32_t floor_permille;            /* of the rate, for each level except the first */
    uint32_t unmanaged_permille;        /* guaranteed to unmanaged traffic */
    uint32_t control_permille;          /* guaranteed to control */
    uint32_t unmanaged_joins;           /* 0…7: the level whose queue it shares if it has none of
                                         * its own */
    bool ecn;                           /* queues mark if they can */
    uint32_t ecn_packets;               /* the threshold, < queue_packets; 0: derived from the
                                         * rate */
    uint32_t red_packets;               /* as in port_queue; requires ecn and ecn_packets */
    uint8_t dscp_of_level[PORT_LEVELS]; /* 1…63, all different, not control's */
};

/* The presets of schemas/duopoly-agent.yaml, at the link's own speed. */
extern const struct port_wish port_wish_preset;

/* A data path's abilities. */
struct port_abilities {
    bool strict;   /* a queue waits for all queues of smaller priority */
    bool floors;   /* guarantees hold even so */
    bool ecn;      /* marks above a queue's threshold */
    bool red;      /* marks and drops at random between two thresholds */
    bool hardware; /* the port does it in hardware, at its own speed */
};

/* A port's facts. */
struct port_facts {
    char name[PORT_LONG_NAME]; /* "": no name that the site could know */
    uint64_t link_bps;         /* its speed; 0: unknown */
    bool down;                 /* link is down: an unknown speed may become known when it is up */
    uint32_t mtu_bytes;        /* ≥ 1, without the link layer's header */
    uint32_t queues_n; /* how many it has, ≤ PORT_QUEUES; PORT_TRAFFIC if any number can be made */
    uint32_t lossless; /* bit p: the queue of priority p is lossless */
    struct port_abilities abilities;
};

struct port_queue {
    enum port_traffic first; /* the most urgent kind that it serves */
    uint32_t priority;       /* among the port's own queues: 0 is served first; all differ */
    uint64_t floor_bps;      /* guaranteed; 0: none */
    uint32_t packets;        /* length */
    uint32_t ecn_packets;    /* longer than this, packets that can carry ECN are marked; 0: never */
    /* 0: mark all packets by the current length. Else (> ecn_packets, ≤ packets, ≤ PORT_RED_MOST)
     * mark by the average length (RED): at random from ecn_packets on, more often the longer it is,
     * and all packets from here on; packets that cannot be marked are dropped. */
    uint32_t red_packets;
};

struct port {
    uint64_t link_bps;  /* rate to shape to */
    bool held;          /* the link must be shaped: it is faster, or its speed is unknown */
    uint64_t lacks_bps; /* how much slower the link is than the wished rate */
    uint32_t mtu_bytes;
    uint32_t levels; /* of the site */
    uint32_t queues_n;
    struct port_queue queues[PORT_TRAFFIC];  /* in order of priority */
    uint8_t queue_of[PORT_TRAFFIC];          /* index of the queue that serves it */
    uint8_t queue_of_dscp[PORT_CODE_POINTS]; /* the same, by a packet's code point */
    uint32_t lossless_n;                     /* queues that were left alone */
    bool lacks_floors, lacks_ecn, lacks_red; /* wished for, but the port cannot do it */
};

/* The rate wished for a port of this name; 0: its link's own speed. */
uint64_t port_rate(const struct port_wish *wish, const char *name);

/* −EINVAL with one sentence: the rate is unknown, or above the link's own although something else
 * has to shape to it; shares leave less than a floor to level 0; fewer than two queues are not
 * lossless; the port is not strict; or a number is out of its range. −ENETDOWN: the rate is unknown
 * while the link is down. */
int port_want(const struct port_wish *wish, const struct port_facts *facts, struct port *ret_port,
              struct err *err);

/* Says in words what of the site's wish the port lacks: its rate, shared queues, floors, ECN,
 * lossless queues. "" if nothing. Returns `text`. */
const char *port_compromises(const struct port *port, char *text, size_t size);
