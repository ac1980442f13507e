/* Captures on network ports through libpcap: frames that enter a switch's port from the host behind
 * it, before any queue of the switch, and frames that leave a port, after its queues.
 *
 * Nonblocking, in the caller's sd_event loop (a blocking read never returns on an idle link). It
 * captures only TCP of some port numbers, where packets leave also marked ICMP, and only the
 * headers. Frames that the kernel dropped because a buffer was full are counted. */
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
    bool out;          /* frames that leave; else frames that enter */
    unsigned hop;      /* the port's number in `hops`; unused without them */
};

/* TCP's, both included: the servers'. */
struct capture_range {
    uint16_t first, last;
};

/* Starts on `n` ports (borrowed for the call). Frames that enter go to `packets`, with times of
 * CLOCK_BOOTTIME; if `hops` is not NULL, frames of both directions go there. Both are borrowed
 * until close. −errno with a sentence: no such interface or namespace, no right to capture. */
int capture_open(sd_event *event, const struct capture_port *ports, unsigned n,
                 struct capture_range range, struct packets *packets, struct hops *hops,
                 struct capture **ret_capture, struct err *err);

/* Reads what is still in the kernel's buffers (blocks for 0.1 s, the time of a batch), and returns
 * how many frames the kernel dropped in all. */
uint64_t capture_drain(struct capture *capture);

/* NULL is fine. */
void capture_close(struct capture *capture);
