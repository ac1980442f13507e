/* The bytes that wait for the recording's writer: one thread puts whole steps in, another takes
 * bytes out, and neither ever waits for the other.
 *
 * A step is put piece by piece and seen by the taker only when it is published; what does not fit
 * is not published in part. Positions count bytes since the beginning and never wrap. The memory is
 * shared with forked children instead of copied (nobody there looks at it). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct recording_ring {
    char *at;
    size_t size;
    uint64_t end;                /* the putter's: behind what is not published yet */
    bool overflowed;             /* the putter's: of the step that is being put */
    _Atomic uint64_t put, taken; /* published; taken out */
};

/* 0 or −ENOMEM. */
int recording_ring_init(struct recording_ring *ring, size_t size);
void recording_ring_done(struct recording_ring *ring);

void recording_ring_put(struct recording_ring *ring, const char *bytes, size_t n);
/* Ends a step: 0 and it can be taken; −ENOBUFS: it did not fit and is forgotten. */
int recording_ring_publish(struct recording_ring *ring);
/* How much is published and not taken. */
size_t recording_ring_waiting(const struct recording_ring *ring);

/* The position up to which steps are published. */
uint64_t recording_ring_end(const struct recording_ring *ring);
/* What lies between `taken` and a position, in two pieces (either may be empty). */
void recording_ring_look(const struct recording_ring *ring, uint64_t until,
                         struct iovec ret_pieces[2]);
void recording_ring_take(struct recording_ring *ring, uint64_t until);
