/* What a worker does with frames (workers_dpdk.h): a burst from a port's device is marked, told apart,
 * and joins the queues of the ports where it goes; a burst of a port's queues goes to its device. For
 * worker_dpdk.c and workers_dpdk.c alone.
 *
 * Each port belongs to one worker, which alone touches its device and queues, and each connection to
 * one, by its hash, both directions alike, which alone touches its entry: a frame passes from the
 * worker of the port where it came to that of its connection, and on to that of the port where it goes.
 * Between each two workers are rings of one producer and one consumer, so that the order of a
 * connection stays. No frame is lost there: who finds too little room takes none from its devices, and
 * what marks waits for who sends, who waits for nobody.
 *
 * What is flooded is copied, whole: marks and congestion are written into each by itself. Frames that a
 * device does not take stay where they are, in their order. */
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

enum forward_stage {
    FORWARD_MARK,
    FORWARD_SEND,
    FORWARD_STAGES
}; /* what another worker is to do */

struct forward_port {
    uint16_t device;
    struct queues *queues;
    struct queues *next;                 /* what the other thread wants instead, while it asks */
    struct queues *spent;                /* what stood there before, for it to free */
    struct queued unsent[FORWARD_BURST]; /* left their queues, and the device did not take them */
    uint32_t unsent_n, unsent_at;
    uint64_t came_packets, went_packets, came_bytes, went_bytes, too_long_packets;
    uint64_t copied_packets; /* of what came here, beside the frames themselves */
} __rte_cache_aligned;

/* What the workers have in common. */
struct fabric {
    int role; /* as in settings.h */
    bool trusts_marks;
    uint32_t most_bytes; /* of a frame */
    uint32_t workers_n, ports_n;
    uint32_t room; /* that a burst may need in a ring */
    struct rte_mempool *pool;
    struct pcapng *capture;
    rte_spinlock_t lock; /* of what follows, held for a burst's stations: fabric_lock */
    uint64_t locked_ns;
    struct switching switching;                                                 /* of a switch */
    struct rte_ring *rings[FASTPATH_WORKERS][FASTPATH_WORKERS][FORWARD_STAGES]; /* from, to */
    struct forward_port ports[FASTPATH_PORTS];
};

struct passed { /* to another worker */
    struct rte_mbuf *packet;
    uint32_t bytes;
    uint16_t port; /* that it came from, to be marked; or goes to */
    uint16_t kind; /* of one that is to be sent */
};

struct forward {
    struct fabric *fabric;
    uint32_t self;
    struct marking marking;
    bool has_shut; /* a port, since it was looked at last */
    struct forward_passing {
        uint32_t n;
        struct passed items[FORWARD_BURST];
    } passing[FASTPATH_WORKERS][FORWARD_STAGES];
} __rte_cache_aligned;

/* The rings, for workers_n and ports_n. −ENOMEM. */
int fabric_connect(struct fabric *fabric, struct err *err);
/* So many frames at most are in them. */
uint32_t fabric_frames(uint32_t workers, uint32_t ports);
void fabric_disconnect(struct fabric *fabric);

/* For all that is done with `switching`; nobody waits meanwhile. Returns the time for it, which never
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

/* Whose a connection is. */
static inline uint32_t fabric_worker_of_flow(const struct fabric *fabric, uint64_t hash)
{
    return (uint32_t)(hash & 0xffff) * fabric->workers_n >> 16; /* bits that no table looks at */
}

static inline uint32_t fabric_worker_of_port(const struct fabric *fabric, uint32_t port)
{
    return port % fabric->workers_n;
}

/* How many frames came, from a port of this worker's. */
uint32_t forward_take(struct forward *forward, uint32_t from, uint64_t now_ns);
/* How many frames came from other workers. */
uint32_t forward_receive(struct forward *forward, uint64_t now_ns);
/* How many went, to a port of this worker's. */
uint32_t forward_give(struct forward *forward, uint32_t to, uint64_t now_ns);
/* What waits is dropped, counted. */
void forward_drop(struct forward_port *port);
/* When forward_give may have something to do: 0 now, UINT64_MAX never. */
uint64_t forward_next_ns(const struct forward_port *port, uint64_t now_ns);
