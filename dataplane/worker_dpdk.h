/* The thread that passes frames between the two sides of a host, or the ports of a switch, on DPDK's
 * devices.
 *
 * It alone touches frames, queues and the table of flows. The other thread, which owns this object,
 * tells it mode and lease by one write each, and levels of flows through a ring, which it takes from
 * between two bursts: traffic never waits for the agent. Counters are copied out by the worker itself
 * when it is asked. It allocates nothing: worker_open does, and worker_set_egress.
 *
 * It polls while there are frames, then sleeps, up to WORKER_SLEEP_NS at a time: the first frame
 * after a silence may wait for so long. Frames that a device does not take stay where they are, in
 * their order. */
#pragma once

#include "dataplane/egress.h"
#include "dataplane/queues.h"
#include "dataplane/settings.h"
#include "dataplane/switching.h"

#define WORKER_SLEEP_NS 500000u
#define WORKER_FLOWS    4096 /* on their way to the worker at once */

struct worker;
struct pcapng;

struct worker_flow {
    struct flow_key key;
    uint8_t levels[2];
    uint64_t owner;
};

struct worker_stats {
    struct marking_counters marking;
    struct flows_counters flows;
    uint32_t flows_alive;
    uint64_t sleeps;
    uint64_t busy_cycles; /* of the processor's time stamp counter, while frames came or went */
    struct worker_macs {
        uint32_t alive;
        uint64_t moved, full; /* stations; times that one found no room */
    } macs;                   /* of a switch */
    uint32_t ports_n;
    struct worker_port {
        uint64_t came_packets; /* from the device */
        uint64_t went_packets; /* to it; what it took it may still drop */
        uint64_t came_bytes, went_bytes;
        uint64_t copied_packets;         /* of what came, when it was flooded */
        struct switching_port switching; /* of a switch */
        uint64_t too_long_packets;       /* came, and are longer than the MTU: dropped */
        uint32_t queues_n;
        struct queue_counters queues[PORT_TRAFFIC]; /* of its egress, most urgent first */
        uint32_t waiting[PORT_TRAFFIC];
    } ports[FASTPATH_PORTS];
};

/* Starts DPDK, opens all devices and takes all memory. Once in a process. −errno with a sentence
 * that names the port or the key; nothing is left open then. */
int worker_open(const struct fastpath_settings *settings, struct worker **ret_worker,
                struct err *err);

int worker_start(struct worker *worker, struct err *err);

/* For the owner's thread. */
struct pcapng *worker_pcapng(struct worker *worker);

/* An eventfd that is readable when a switch's port has been shut since it was read last. */
int worker_event(const struct worker *worker);

/* Ends the thread and drops what waits, counted. The stats are final. */
void worker_stop(struct worker *worker);

void worker_set_mode(struct worker *worker, uint32_t mode); /* 0 or 1 */
/* Marks are written for so long from now; 0 ends them. */
void worker_set_lease(struct worker *worker, uint64_t lease_ns);
/* Takes all of them or none. −ENOBUFS: so many are on their way that there is no room. */
int worker_set_flows(struct worker *worker, const struct worker_flow *flows, uint32_t n);

/* The ports as they are now. */
const struct egress *worker_egress(const struct worker *worker);
/* Each port whose queues are others than now gets them between two bursts: none of the frames that
 * wait is lost. The owner's thread; waits as worker_stats. −ENOMEM: nothing is changed. −ETIMEDOUT: the
 * worker hangs, and does it when it goes on. */
int worker_set_egress(struct worker *worker, const struct egress *ports, struct err *err);

/* Goes on with these settings, all of them from one moment on, and without a loss; ports that somebody
 * has set stay so. −EINVAL: as fastpath_may_change and fastpath_port; else as worker_set_egress. */
int worker_reload(struct worker *worker, const struct fastpath_settings *settings, struct err *err);

/* Waits for the worker, some microseconds, or a sleep's length. −ETIMEDOUT: it hangs. Any thread
 * while the worker runs, then its owner. */
int worker_stats(struct worker *worker, struct worker_stats *ret_stats);

/* Stops and closes everything; the frames that are nowhere then are returned (0: none is lost).
 * Takes NULL. */
uint32_t worker_close(struct worker *worker);
