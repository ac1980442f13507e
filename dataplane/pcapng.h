/* Frames as they come from the ports' devices and as they leave their queues, copied to a file (pcapng) while they pass. The
 * workers copy them into a ring, never wait, and count what finds no room; the other thread writes
 * the file. One capture at a time; it ends when it has as many as were asked for, or when it is told
 * to. Memory is taken once, by pcapng_open. */
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

/* Frames of at most `most_bytes`. */
int pcapng_open(uint32_t most_bytes, struct pcapng **ret_capture, struct err *err);
void pcapng_close(struct pcapng *capture); /* ends it; takes NULL */

/* Of a port's place, or CAPTURE_ALL; into a new file below `folder`, mode 0640, whose path is told.
 * −EBUSY: one goes on; −ENOSPC: CAPTURE_FILES are there. */
int pcapng_begin(struct pcapng *capture, const char *folder, const char *name, uint32_t port,
                 uint32_t frames, char *path, size_t size, struct err *err);
/* Writes what has come since the last time. Whether it is over: the file is whole then. */
bool pcapng_write(struct pcapng *capture);
/* Readable when pcapng_write has something to do. */
int pcapng_event(const struct pcapng *capture);
/* No more is copied from now on; pcapng_write then ends it, once the workers have been asked for their
 * stats. 0, or −ENOENT: none goes on. */
int pcapng_stop(struct pcapng *capture, struct err *err);
bool pcapng_goes_on(const struct pcapng *capture);
/* Of the last one. */
void pcapng_count(const struct pcapng *capture, uint64_t *ret_written, uint64_t *ret_lost);
