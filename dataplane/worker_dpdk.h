/* One of the workers: a thread on a processor of its own, for workers_dpdk.c only. It forwards
 * frames (forward_dpdk.h), carries out the owner's orders between two bursts, and writes its part
 * of the statistics on request.
 *
 * It polls while there are frames, then sleeps, up to WORKERS_SLEEP_NS at a time. */
#pragma once

#include "dataplane/forward_dpdk.h"
#include "dataplane/kept.h"
#include "dataplane/workers_dpdk.h"

#include <rte_ring.h>
#include <stdatomic.h>

/* Orders of the owner's thread to all workers. */
struct worker_orders {
    _Atomic uint32_t asked; /* number of requests for the stats, and for what follows */
    _Atomic bool stop;
    struct worker_change {
        bool wanted; /* while it is requested */
        struct marking_settings marking;
        struct switching_settings switching;
    } change;
};

struct worker {
    struct forward forward;
    const struct worker_orders *orders;
    struct rte_ring *commands; /* of struct workers_flow */
    struct kept *kept;         /* mode and lease */
    struct flows *flows;
    int event; /* an eventfd, owned by the owner: a port was shut */
    uint32_t idle_polls;
    uint64_t sleep_ns, sleeps, expire_ns, busy_cycles;
    /* The answer: its part of `stats`, and of its own ports', belongs to this request number. */
    _Atomic uint32_t answered;
    struct workers_stats *stats; /* of all */
    struct worker_part {
        struct marking_counters marking;
        struct flows_counters flows;
        uint32_t flows_alive;
        uint64_t sleeps, busy_cycles;
    } part;
};

/* Runs until it is stopped; for rte_eal_remote_launch. */
int worker_run(void *worker);

/* Writes its part of the stats now: called by its own thread, or by another one after its end. */
void worker_write_stats(struct worker *worker);
