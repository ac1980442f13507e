/* What a worker does with frames (workers_dpdk.h): marks and classifies a burst from a port's
 * device and puts it into the queues of the ports where it goes; sends a burst of a port's queues
 * to its device. For worker_dpdk.c and workers_dpdk.c only.
 *
 * Each port belongs to one worker, which alone uses its device and queues. Each connection belongs
 * to one worker, by its hash, which is equal for both directions; only that worker uses its entry.
 * A frame passes from the worker of its ingress port to that of its connection, and on to that of
 * its egress port. A ring with one producer and one consumer connects each pair of workers, which
 * keeps the order of a connection. No frame is lost there: a worker without enough ring space takes
 * no frames from its devices; marking waits for sending, and sending waits for nothing.
 *
 * A flooded frame is copied whole, since marks and congestion are written into each copy. Frames
 * that a device does not take stay where they are, in order. */
#pragma once

#include "dataplane/marking.h"
#include "dataplane/pcapng_dpdk.h"
#include "dataplane/queues.h"
#include "dataplane/settings.h"
#include "dataplane/switching.h"

#include <rte_common.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <rte_spinlock.h>

#define FORWARD_BURST  32
#define FORWARD_BURSTS 4 /* of one worker's frames, or of one port's, in a turn */

enum forward_stage { FORWARD_MARK, FORWARD_SEND, FORWARD_STAGES }; /* work for another worker */

struct forward_port {
    uint16_t device;
    struct queues *queues;
    struct queues *next;                 /* new queues from the other thread, while it asks */
    struct queues *spent;                /* the former queues, for it to free */
    struct queued unsent[FORWARD_BURST]; /* taken from their queues, but the device did not take
                                          * them */
    uint32_t unsent_n, unsent_at;
    uint64_t came_packets, went_packets, came_bytes, went_bytes, too_long_packets;
    uint64_t copied_packets; /* of what came here, besides the frames themselves */
} __rte_cache_aligned;

/* State that the workers share. */
struct fabric {
    int role; /* as in settings.h */
    bool trusts_marks;
    uint32_t most_bytes; /* of a frame */
    uint32_t workers_n, ports_n;
    uint32_t room; /* ring space that a burst may need */
    struct rte_mempool *pool;
    struct pcapng *capture;
    rte_spinlock_t lock; /* for what follows, held for a burst's lookups: fabric_lock */
    uint64_t locked_ns;
    struct switching switching;                                                 /* of a switch */
    struct rte_ring *rings[FASTPATH_WORKERS][FASTPATH_WORKERS][FORWARD_STAGES]; /* from, to */
    struct forward_port ports[FASTPATH_PORTS];
};

struct passed { /* to another worker */
    struct rte_mbuf *packet;
    uint32_t bytes;
    uint16_t port; /* where it came from, if it is to be marked; else where it goes */
    uint16_t kind; /* of a frame to send */
};

struct forward {
    struct fabric *fabric;
    uint32_t self;
    struct marking marking;
    bool has_shut; /* a port was shut since the last check */
    struct forward_passing {
        uint32_t n;
        struct passed items[FORWARD_BURST];
    } passing[FASTPATH_WORKERS][FORWARD_STAGES];
} __rte_cache_aligned;

/* The rings, for workers_n and ports_n. −ENOMEM. */
int fabric_connect(struct fabric *fabric, struct err *err);
/* The most frames in them. */
uint32_t fabric_frames(uint32_t workers, uint32_t ports);
void fabric_disconnect(struct fabric *fabric);

/* For every use of `switching`, during which no worker waits. Returns the time to use, which never
 * falls: `now_ns`, unless another worker was ahead. */
static inline uint64_t fabric_lock(struct fabric *fabric, uint64_t now_ns)
{
    rte_spinlock_lock(&fabric->lock);
    fabric->locked_ns = RTE_MAX(fabric->locked_ns, now_ns);
    return fabric->locked_ns;
}

static inline void fabric_unlock(struct fabric *fabric)
{
    rte_spinlock_unlock(&fabric->lock);
}

/* The worker of a connection. */
static inline uint32_t fabric_worker_of_flow(const struct fabric *fabric, uint64_t hash)
{
    return (uint32_t)(hash & 0xffff) * fabric->workers_n >> 16; /* bits that no table uses */
}

static inline uint32_t fabric_worker_of_port(const struct fabric *fabric, uint32_t port)
{
    return port % fabric->workers_n;
}

/* Takes frames from a port of this worker; returns how many. */
uint32_t forward_take(struct forward *forward, uint32_t from, uint64_t now_ns);
/* Takes frames from other workers; returns how many. */
uint32_t forward_receive(struct forward *forward, uint64_t now_ns);
/* Sends frames to a port of this worker; returns how many. */
uint32_t forward_give(struct forward *forward, uint32_t to, uint64_t now_ns);
/* Drops what waits, and counts it. */
void forward_drop(struct forward_port *port);
/* When forward_give may have work: 0 now, UINT64_MAX never. */
uint64_t forward_next_ns(const struct forward_port *port, uint64_t now_ns);
