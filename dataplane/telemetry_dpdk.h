/* The data plane's counters, for DPDK's own telemetry (dpdk-telemetry.py):
 *
 *   /duopoly/ports          the sides' names
 *   /duopoly/port,PORT      frames that came, went and were too long
 *   /duopoly/queues,PORT    an array for each counter, of the egress's queues, most urgent first
 *   /duopoly/flows          connections known, and what became of others
 *   /duopoly/worker         sleeps, busy cycles, and cycles a packet that came
 *
 * DPDK answers in a thread of its own; null if there is no side of that name, or a worker does not
 * answer. Its socket belongs to the program's user. */
#pragma once

#include "dataplane/workers_dpdk.h"
#include "lib/err.h"

/* Once in a process. The running workers are borrowed until telemetry_end, which waits for the last
 * answer and must be called before they end. */
int telemetry_begin(struct workers *workers, struct err *err);
void telemetry_end(void);
