/* Captures on network ports through libpcap: what comes in at a switch's port from the host behind
 * it, before any queue of the switch, and what leaves a port, after its queues.
 *
 * Nonblocking, in the caller's sd_event loop (a blocking read never returns on an idle link). Only
 * TCP of some port numbers is asked for, and where packets leave also marked ICMP, of each packet
 * only the headers. Frames that the kernel dropped for want of buffer are counted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "lib/err.h"
#include "testbed/verify/hops.h"
#include "testbed/verify/packets.h"

struct capture;

struct capture_port {
    const char *where; /* as netns_do (netns.h) takes it */
    bool out;          /* what leaves there, else what comes in */
    unsigned hop;      /* the port's number in `hops`; without them not used */
};

/* TCP's, both included: the servers'. */
struct capture_range {
    uint16_t first, last;
};

/* Starts on `n` ports (borrowed for the call). What comes in goes to `packets`, with times of
 * CLOCK_BOOTTIME; where `hops` is not NULL both ways go there. Both are borrowed until closed.
 * −errno with a sentence: no such interface or namespace, no right to capture. */
int capture_open(sd_event *event, const struct capture_port *ports, unsigned n,
                 struct capture_range range, struct packets *packets, struct hops *hops,
                 struct capture **ret_capture, struct err *err);

/* Takes what is still in the kernel's buffers (blocks for 0.1 s, their batches' time), and returns
 * how many frames the kernel dropped in all. */
uint64_t capture_drain(struct capture *capture);

/* NULL is fine. */
void capture_close(struct capture *capture);
