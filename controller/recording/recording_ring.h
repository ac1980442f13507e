/* The bytes that wait for the recording's writer: one thread puts whole steps in, another takes
 * bytes out, and neither ever waits for the other.
 *
 * A step is put piece by piece and becomes visible to the taker when it is published; a step that
 * does not fit is dropped whole. Positions count bytes since the beginning and never wrap. The
 * memory is shared with forked children instead of copied (they do not read it). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct recording_ring {
    char *at;
    size_t size;
    uint64_t end;                /* the putter's: after the unpublished step */
    bool overflowed;             /* the putter's: the unpublished step did not fit */
    _Atomic uint64_t put, taken; /* published; taken out */
};

/* 0 or −ENOMEM. */
int recording_ring_init(struct recording_ring *ring, size_t size);
void recording_ring_done(struct recording_ring *ring);

void recording_ring_put(struct recording_ring *ring, const char *bytes, size_t n);
/* Ends a step: 0: it is published; −ENOBUFS: it did not fit and is dropped. */
int recording_ring_publish(struct recording_ring *ring);
/* How much is published and not taken. */
size_t recording_ring_waiting(const struct recording_ring *ring);

/* The position up to which steps are published. */
uint64_t recording_ring_end(const struct recording_ring *ring);
/* The bytes between `taken` and a position, in two pieces (either may be empty). */
void recording_ring_look(const struct recording_ring *ring, uint64_t until,
                         struct iovec ret_pieces[2]);
void recording_ring_take(struct recording_ring *ring, uint64_t until);
