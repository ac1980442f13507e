/* What the worker does with frames (worker_dpdk.h): a burst from a port's device is marked, told apart,
 * and joins the queues of the ports where it goes; a burst of a port's queues goes to its device. For
 * worker_dpdk.c alone.
 *
 * What is flooded is copied, whole: marks and congestion are written into each by itself. Frames that a
 * device does not take stay where they are, in their order. */
#pragma once

#include "dataplane/marking.h"
#include "dataplane/pcapng_dpdk.h"
#include "dataplane/queues.h"
#include "dataplane/settings.h"
#include "dataplane/switching.h"

#include <rte_mempool.h>

#define FORWARD_BURST 32

struct forward_port {
    uint16_t device;
    struct queues *queues;
    struct queues *next;                 /* what the other thread wants instead, while it asks */
    struct queues *spent;                /* what stood there before, for it to free */
    struct queued unsent[FORWARD_BURST]; /* left their queues, and the device did not take them */
    uint32_t unsent_n, unsent_at;
    uint64_t came_packets, went_packets, came_bytes, went_bytes, too_long_packets;
    uint64_t copied_packets; /* of what came here, beside the frames themselves */
};

struct forward {
    int role; /* as in settings.h */
    bool trusts_marks;
    uint32_t most_bytes; /* of a frame */
    struct rte_mempool *pool;
    struct marking marking;
    struct switching switching; /* of a switch */
    struct pcapng *capture;
    uint32_t ports_n; /* that are open */
    struct forward_port ports[FASTPATH_PORTS];
};

/* How many frames came. */
uint32_t forward_take(struct forward *forward, uint32_t from, uint64_t now_ns);
/* How many went. */
uint32_t forward_give(struct forward *forward, uint32_t to, uint64_t now_ns);
/* What waits is dropped, counted. */
void forward_drop(struct forward_port *port);
/* When forward_give may have something to do: 0 now, UINT64_MAX never. */
uint64_t forward_next_ns(const struct forward_port *port, uint64_t now_ns);
