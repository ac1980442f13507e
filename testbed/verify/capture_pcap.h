/* Captures what comes in on network ports through libpcap: at a switch's port, what the host behind
 * it has sent, before any queue of the switch.
 *
 * Nonblocking, in the caller's sd_event loop (a blocking read never returns on an idle link). Only
 * TCP of one port number is asked for, and of each packet only the headers. Frames that the kernel
 * dropped for want of buffer are counted. */
#pragma once

#include <stdint.h>

#include <systemd/sd-event.h>

#include "lib/err.h"
#include "testbed/verify/packets.h"

struct capture;

/* Starts on `n` interfaces (names borrowed for the call): NAME of this network namespace, or
 * NAME@FILE of the one that the file is (/run/netns/…), which takes CAP_SYS_ADMIN. Packets go to
 * `packets` (borrowed until closed), with times of CLOCK_BOOTTIME. −errno with a sentence: no such
 * interface or namespace, no right to capture. */
int capture_open(sd_event *event, char *const *interfaces, unsigned n, uint16_t port,
                 struct packets *packets, struct capture **ret_capture, struct err *err);

/* Takes what is still in the kernel's buffers (blocks for 0.1 s, their batches' time), and returns
 * how many frames the kernel dropped in all. */
uint64_t capture_drain(struct capture *capture);

/* NULL is fine. */
void capture_close(struct capture *capture);
