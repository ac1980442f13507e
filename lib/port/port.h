/* What an egress port should be (pure): the site's wish and the port's facts in, wanted queues out.
 *
 * One description for every data path, Linux hosts and switches, Open vSwitch, SONiC and what a
 * person types: queues in order of their priority, each with what it serves, a guaranteed share, a
 * length and an ECN threshold. How a data path brings that about (HTB's rates that add up, a
 * switch's own queue numbers) is its driver's affair.
 *
 * Ten kinds of traffic come to a port: control, levels 0 to 7 (0 most urgent), unmanaged. A site
 * with fewer levels has the higher ones served in its last. A queue is served when those of smaller
 * priority are empty; its floor is guaranteed all the same, so that a starved flow's packets keep
 * trickling and its acknowledgements can carry a new mark. The queue of level 0 has no floor: it
 * comes first.
 *
 * A port with too few queues serves several kinds in one (it folds): control joins level 0, then
 * unmanaged traffic the level that the site names, then neighbouring levels share, the least urgent
 * ones first. Shared queues have the floors and lengths of all that they serve. Lossless (PFC)
 * queues are somebody else's and never taken. What a port cannot do is left out of its queues, and
 * said (port_compromises). A port that serves its queues itself does so at its own speed where that is
 * below the rate wished for it.
 *
 * ECN thresholds follow the line through the DCTCP paper's two (Alizadeh et al., SIGCOMM 2010,
 * 3.1): 20 packets at 1 Gb/s, 65 at 10 Gb/s; but at most half of a queue. RED is Floyd's and Jacobson's
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

/* Ports whose names a pattern matches (port_names.h) have a rate of their own: a leaf's uplink is no
 * host port. */
struct port_rate {
    char ports[PORT_LONG_NAME];
    int64_t rate_bps; /* ≥ 0, as link_bps */
};

/* What the site wants of every port. */
struct port_wish {
    uint64_t link_bps;                  /* what is shaped to; 0: the link's own speed */
    struct port_rate rates[PORT_RATES]; /* the first that matches counts instead of it */
    uint32_t rates_n;
    uint32_t levels; /* 1…8. 1: all managed traffic in one queue as long as the eight together */
    uint32_t queue_packets;             /* ≥ 2: length of each queue */
    uint32_t floor_permille;            /* of the rate, for each level but the first */
    uint32_t unmanaged_permille;        /* guaranteed to unmanaged traffic */
    uint32_t control_permille;          /* guaranteed to control */
    uint32_t unmanaged_joins;           /* 0…7: whose queue, where there is none for it alone */
    bool ecn;                           /* queues mark where they can */
    uint32_t ecn_packets;               /* < queue_packets: the threshold; 0: by the rate */
    uint32_t red_packets;               /* as in port_queue; not without ecn and ecn_packets */
    uint8_t dscp_of_level[PORT_LEVELS]; /* 1…63, all different, not control's */
};

/* The presets of schemas/duopoly-agent.yaml, at the link's own speed. */
extern const struct port_wish port_wish_preset;

/* What a data path can bring about. */
struct port_abilities {
    bool strict;   /* a queue waits for those of smaller priority */
    bool floors;   /* guarantees hold all the same */
    bool ecn;      /* marks at a queue's threshold */
    bool red;      /* marks and drops at random, between two */
    bool hardware; /* the port itself does it, at its own speed */
};

/* What a port is. */
struct port_facts {
    char name[PORT_LONG_NAME]; /* "": none that the site could know */
    uint64_t link_bps;         /* its speed; 0: it does not say */
    bool down;          /* its link: one that does not say its speed may do so when it is up */
    uint32_t mtu_bytes; /* ≥ 1, without the link layer's header */
    uint32_t queues_n; /* that it has, ≤ PORT_QUEUES; PORT_TRAFFIC where any number can be made */
    uint32_t lossless; /* bit p: its queue of priority p is */
    struct port_abilities abilities;
};

struct port_queue {
    enum port_traffic first; /* the most urgent that it serves */
    uint32_t priority;       /* among the port's own queues: 0 is served first; all differ */
    uint64_t floor_bps;      /* guaranteed; 0: none */
    uint32_t packets;        /* length */
    uint32_t ecn_packets;    /* longer than this, packets that can carry ECN are marked; 0: never */
    /* 0: all of them, by what waits now. Else (> ecn_packets, ≤ packets, ≤ PORT_RED_MOST) by the average
     * (RED): at random, more often the longer it is, and all from here on; other packets are dropped. */
    uint32_t red_packets;
};

struct port {
    uint64_t link_bps;  /* what is shaped to */
    bool held;          /* and has to be: the link itself is faster, or does not say */
    uint64_t lacks_bps; /* by so much the link is slower than the rate that is wished */
    uint32_t mtu_bytes;
    uint32_t levels; /* that the site has */
    uint32_t queues_n;
    struct port_queue queues[PORT_TRAFFIC];  /* in order of priority */
    uint8_t queue_of[PORT_TRAFFIC];          /* index of the queue that serves it */
    uint8_t queue_of_dscp[PORT_CODE_POINTS]; /* the same by what a packet bears */
    uint32_t lossless_n;                     /* queues that were left alone */
    bool lacks_floors, lacks_ecn, lacks_red; /* wished for, and the port has not got them */
};

/* What is wished for a port of this name; 0: its link's own speed. */
uint64_t port_rate(const struct port_wish *wish, const char *name);

/* −EINVAL, with one sentence, when the rate is not known, or above the link's own where something else
 * has to hold it, when shares leave less than a floor to level 0, when less than two queues are not
 * lossless, when the port is not strict, or when a number is out of its range. −ENETDOWN: the rate is
 * not known while the link is down. */
int port_want(const struct port_wish *wish, const struct port_facts *facts, struct port *ret_port,
              struct err *err);

/* In words for people, what the port has not got as the site wishes: its rate, what shares a queue,
 * floors, ECN, lossless queues. "" where there is nothing to say. Returns `text`. */
const char *port_compromises(const struct port *port, char *text, size_t size);
