/* What the data plane counts, for DPDK's own telemetry (dpdk-telemetry.py):
 *
 *   /duopoly/ports          the sides' names
 *   /duopoly/port,PORT      frames that came, went and were too long
 *   /duopoly/queues,PORT    an array for each counter, of the egress's queues, most urgent first
 *   /duopoly/flows          connections known, and what became of others
 *   /duopoly/worker         sleeps, busy cycles, and cycles a packet that came
 *
 * DPDK answers in a thread of its own, and null where a side has no such name or the worker does not
 * answer. Its socket is of the user that the program runs as. */
#pragma once

#include "dataplane/workers_dpdk.h"
#include "lib/err.h"

/* Once in a process. The worker, which runs, is borrowed until the end, which waits for the last
 * answer, and comes before the worker's. */
int telemetry_begin(struct workers *workers, struct err *err);
void telemetry_end(void);
