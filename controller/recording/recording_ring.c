#include "controller/recording/recording_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int recording_ring_init(struct recording_ring *ring, size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *ring = (struct recording_ring){.at = at == MAP_FAILED ? NULL : at, .size = size};
    return ring->at ? 0 : -ENOMEM;
}

void recording_ring_done(struct recording_ring *ring)
{
    if (ring->at)
        munmap(ring->at, ring->size);
    ring->at = NULL;
}

void recording_ring_put(struct recording_ring *ring, const char *bytes, size_t n)
{
    uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_acquire);
    if (ring->overflowed || n > ring->size - (size_t)(ring->end - taken)) {
        ring->overflowed = true;
        return;
    }
    size_t offset = (size_t)(ring->end % ring->size), first = ring->size - offset;
    first = n < first ? n : first;
    memcpy(ring->at + offset, bytes, first);
    memcpy(ring->at, bytes + first, n - first);
    ring->end += n;
}

int recording_ring_publish(struct recording_ring *ring)
{
    if (ring->overflowed) {
        ring->overflowed = false;
        ring->end = atomic_load_explicit(&ring->put, memory_order_relaxed);
        return -ENOBUFS;
    }
    /* Sequentially consistent: the putter then checks whether the taker sleeps; the taker announces
     * that and then checks here. */
    atomic_store(&ring->put, ring->end);
    return 0;
}

size_t recording_ring_waiting(const struct recording_ring *ring)
{
    uint64_t taken = atomic_load(&ring->taken);
    return (size_t)(atomic_load(&ring->put) - taken);
}

uint64_t recording_ring_end(const struct recording_ring *ring)
{
    return atomic_load(&ring->put);
}

void recording_ring_look(const struct recording_ring *ring, uint64_t until,
                         struct iovec ret_pieces[2])
{
    uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    size_t n = (size_t)(until - taken), offset = (size_t)(taken % ring->size);
    size_t first = n < ring->size - offset ? n : ring->size - offset;
    ret_pieces[0] = (struct iovec){ring->at + offset, first};
    ret_pieces[1] = (struct iovec){ring->at, n - first};
}

void recording_ring_take(struct recording_ring *ring, uint64_t until)
{
    atomic_store(&ring->taken, until);
}
