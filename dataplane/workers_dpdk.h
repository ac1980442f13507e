/* The threads that pass frames between the two sides of a host, or the ports of a switch, on DPDK's
 * devices: one for each processor of the configuration.
 *
 * Only they use frames, queues and the table of flows, each its own part (forward_dpdk.h). The
 * other thread, which owns this object, sets mode and lease by one write each, and sends levels of
 * flows through rings, which the workers read between two bursts: traffic never waits for the
 * agent. The workers copy their counters on request. They allocate nothing: workers_open and
 * workers_set_egress do.
 *
 * They poll while there are frames, then sleep, up to WORKERS_SLEEP_NS at a time: the first frame
 * after a silence may wait that long at each worker that it passes. Frames that a device does not
 * take stay where they are, in order. */
#pragma once

#include "dataplane/egress.h"
#include "dataplane/queues.h"
#include "dataplane/settings.h"
#include "dataplane/switching.h"

#define WORKERS_SLEEP_NS 500000u
#define WORKERS_FLOWS    4096 /* on their way to a worker at any time */

struct workers;
struct pcapng;

struct workers_flow {
    struct flow_key key;
    uint8_t levels[2];
    uint64_t owner;
};

struct workers_stats {
    struct marking_counters marking;
    struct flows_counters flows;
    uint32_t flows_alive;
    uint64_t sleeps;
    uint64_t busy_cycles; /* of the processor's time stamp counter, while frames came or went */
    struct workers_macs {
        uint32_t alive;
        uint64_t moved, full; /* stations; times that one found no room */
    } macs;                   /* of a switch */
    uint32_t ports_n;
    struct workers_port {
        uint64_t came_packets; /* from the device */
        uint64_t went_packets; /* to the device, which may still drop them */
        uint64_t came_bytes, went_bytes;
        uint64_t copied_packets;         /* of what came: copies by flooding */
        struct switching_port switching; /* of a switch */
        uint64_t too_long_packets;       /* came, but longer than the MTU: dropped */
        uint32_t queues_n;
        struct queue_counters queues[PORT_TRAFFIC]; /* of its egress, most urgent first */
        uint32_t waiting[PORT_TRAFFIC];
    } ports[FASTPATH_PORTS];
};

/* Starts DPDK, opens all devices and allocates all memory. Once in a process. −errno with a
 * sentence that names the port or the key; nothing is left open then. */
int workers_open(const struct fastpath_settings *settings, struct workers **ret_workers,
                 struct err *err);

int workers_start(struct workers *workers, struct err *err);

/* For the owner's thread. */
struct pcapng *workers_pcapng(struct workers *workers);

/* An eventfd that is readable if a switch's port was shut since it was read last. */
int workers_event(const struct workers *workers);

/* Ends the threads, drops what waits and counts it. The stats are final. */
void workers_stop(struct workers *workers);

void workers_set_mode(struct workers *workers, uint32_t mode); /* 0 or 1 */
/* Marks are written for this long from now; 0 ends them. */
void workers_set_lease(struct workers *workers, uint64_t lease_ns);
/* Takes all or none. −ENOBUFS: too many are on their way. Call it in the owner's thread. */
int workers_set_flows(struct workers *workers, const struct workers_flow *flows, uint32_t n);

/* The ports as they are now. */
const struct egress *workers_egress(const struct workers *workers);
/* Each port whose queues differ from now gets the new ones between two bursts; no waiting frame is
 * lost. Call it in the owner's thread; waits as workers_stats. −ENOMEM: nothing is changed.
 * −ETIMEDOUT: a worker hangs, and makes the change when it continues. */
int workers_set_egress(struct workers *workers, const struct egress *ports, struct err *err);

/* Continues with these settings, all of them from one moment on, without a loss; ports that an
 * agent has set stay as set. −EINVAL: as fastpath_may_change and fastpath_port; else as
 * workers_set_egress. */
int workers_reload(struct workers *workers, const struct fastpath_settings *settings,
                   struct err *err);

/* Waits for all workers, some microseconds, or the length of a sleep. −ETIMEDOUT: one hangs. Any
 * thread may call it while they run, then only their owner. */
int workers_stats(struct workers *workers, struct workers_stats *ret_stats);

/* Stops and closes everything; returns the number of frames that are missing (0: none was lost).
 * Takes NULL. */
uint32_t workers_close(struct workers *workers);
