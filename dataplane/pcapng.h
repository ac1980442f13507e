/* Captures frames as they come from the ports' devices and as they leave their queues, to a file
 * (pcapng). The workers copy them into a ring, never wait, and count what does not fit; the other
 * thread writes the file. One capture at a time; it ends after the requested number of frames, or
 * on request. Memory is allocated once, by pcapng_open. */
#pragma once

#include "lib/err.h"
#include "lib/port/port.h"

#include <stdbool.h>
#include <stdint.h>

#define CAPTURE_FRAMES 1024 /* between the two threads */
#define CAPTURE_MOST   10000000u
#define CAPTURE_FILES  100 /* in the folder */
#define CAPTURE_ALL    UINT32_MAX

struct pcapng;

/* For frames of at most `most_bytes`. */
int pcapng_open(uint32_t most_bytes, struct pcapng **ret_capture, struct err *err);
void pcapng_close(struct pcapng *capture); /* ends it; takes NULL */

/* Captures one port, or CAPTURE_ALL, into a new file in `folder`, mode 0640; returns its path.
 * −EBUSY: a capture is running; −ENOSPC: there are CAPTURE_FILES files. */
int pcapng_begin(struct pcapng *capture, const char *folder, const char *name, uint32_t port,
                 uint32_t frames, char *path, size_t size, struct err *err);
/* Writes what has come since the last call. Returns whether the capture is over: the file is
 * complete then. */
bool pcapng_write(struct pcapng *capture);
/* Readable when pcapng_write has work. */
int pcapng_event(const struct pcapng *capture);
/* Stops copying; pcapng_write ends the capture once the workers have been asked for their stats. 0,
 * or −ENOENT: none is running. */
int pcapng_stop(struct pcapng *capture, struct err *err);
bool pcapng_goes_on(const struct pcapng *capture);
/* Of the last capture. */
void pcapng_count(const struct pcapng *capture, uint64_t *ret_written, uint64_t *ret_lost);
