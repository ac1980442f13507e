#define ALLOW_EXPERIMENTAL_API /* rte_pcapng, of DPDK 22.11 */
#include "dataplane/pcapng_dpdk.h"

#include "lib/now.h"

#include <errno.h>
#include <fcntl.h>
#include <rte_errno.h>
#include <rte_pcapng.h>
#include <rte_ring.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BURST 32

struct pcapng {
    struct rte_mempool *pool;
    struct rte_ring *ring;
    int event;
    rte_pcapng_t *file; /* NULL: no capture */
    uint64_t written;
    bool failed; /* to write */
    uint32_t port;
    /* The workers', while `on`. */
    _Atomic bool on;
    _Atomic bool told; /* that there is something to write */
    _Atomic uint32_t left,
        unfinished; /* unfinished; frames that are not being copied yet; that are not in the ring */
    _Atomic uint64_t lost;
};

int pcapng_open(uint32_t most_bytes, struct pcapng **ret_capture, struct err *err)
{
    struct pcapng *capture = calloc(1, sizeof(*capture));
    if (!capture)
        return err_set(err, ENOMEM, "no memory");
    capture->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    capture->pool =
        rte_pktmbuf_pool_create("captured", CAPTURE_FRAMES - 1, 0, 0,
                                (uint16_t)rte_pcapng_mbuf_size(most_bytes), SOCKET_ID_ANY);
    capture->ring = rte_ring_create("captured", CAPTURE_FRAMES, SOCKET_ID_ANY, RING_F_SC_DEQ);
    if (capture->event < 0 || !capture->pool || !capture->ring) {
        int r = err_sys(err, rte_errno, "memory for %d captured frames", CAPTURE_FRAMES);
        pcapng_close(capture);
        return r;
    }
    *ret_capture = capture;
    return 0;
}

static void drop_rest(struct pcapng *capture)
{
    struct rte_mbuf *frame;
    while (rte_ring_sc_dequeue(capture->ring, (void **)&frame) == 0)
        rte_pktmbuf_free(frame);
}

void pcapng_close(struct pcapng *capture)
{
    if (!capture)
        return;
    if (capture->ring)
        drop_rest(capture);
    if (capture->file)
        rte_pcapng_close(capture->file);
    rte_ring_free(capture->ring);
    rte_mempool_free(capture->pool);
    if (capture->event >= 0)
        close(capture->event);
    free(capture);
}

/* The first free of CAPTURE_FILES names. */
static int make_file(const char *folder, const char *name, char *path, size_t size, struct err *err)
{
    int fd = -1;
    for (int i = 1; i <= CAPTURE_FILES && fd < 0; i++) {
        snprintf(path, size, "%s/capture-%s-%d.pcapng", folder, name, i);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
        if (fd < 0 && errno != EEXIST)
            return err_sys(err, errno, "making %s", path);
    }
    return fd < 0 ? err_set(err, ENOSPC, "%d captures of %s are in %s already: remove some",
                            CAPTURE_FILES, name, folder)
                  : fd;
}

int pcapng_begin(struct pcapng *capture, const char *folder, const char *name, uint32_t port,
                 uint32_t frames, char *path, size_t size, struct err *err)
{
    if (capture->file)
        return err_set(err, EBUSY, "a capture goes on already");
    const int fd = make_file(folder, name, path, size, err);
    if (fd < 0)
        return fd;
    capture->file = rte_pcapng_fdopen(fd, NULL, NULL, "duopoly-fastpath", NULL);
    if (!capture->file) {
        close(fd);
        unlink(path);
        return err_sys(err, rte_errno ? rte_errno : EIO, "beginning %s", path);
    }
    capture->written = 0;
    capture->failed = false;
    capture->port = port;
    atomic_store(&capture->lost, 0);
    atomic_store(&capture->left, frames);
    atomic_store(&capture->unfinished, frames);
    atomic_store_explicit(&capture->on, true, memory_order_release);
    return 0;
}

bool pcapng_write(struct pcapng *capture)
{
    struct rte_mbuf *frames[BURST];
    eventfd_t times;
    unsigned n;
    eventfd_read(capture->event, &times);
    atomic_store(&capture->told, false);
    if (!capture->file)
        return false;
    const bool ends = !atomic_load(&capture->on);
    while ((n = rte_ring_sc_dequeue_burst(capture->ring, (void **)frames, BURST, NULL)) > 0) {
        capture->failed |= rte_pcapng_write_packets(capture->file, frames, (uint16_t)n) < 0;
        capture->written += n;
    }
    if (!ends && !capture->failed)
        return false;
    atomic_store(&capture->on, false);
    rte_pcapng_close(capture->file);
    capture->file = NULL;
    return true;
}

int pcapng_event(const struct pcapng *capture)
{
    return capture->event;
}

int pcapng_stop(struct pcapng *capture, struct err *err)
{
    if (!capture->file)
        return err_set(err, ENOENT, "no capture goes on");
    atomic_store(&capture->on, false);
    return 0;
}

bool pcapng_goes_on(const struct pcapng *capture)
{
    return capture->file != NULL;
}

void pcapng_count(const struct pcapng *capture, uint64_t *ret_written, uint64_t *ret_lost)
{
    *ret_written = capture->written;
    *ret_lost = atomic_load(&capture->lost);
}

/* WHY: the times that rte_pcapng of 22.11 computes from the time stamp counter are centuries ahead
 * here. The time of an Enhanced Packet Block (pcapng, 4.3) is words 3 and 4, in ns as its interface
 * declares. */
static void set_time(struct rte_mbuf *copy)
{
    const uint64_t now = now_ns(CLOCK_REALTIME);
    const uint32_t halves[] = {(uint32_t)(now >> 32), (uint32_t)now};
    memcpy(rte_pktmbuf_mtod_offset(copy, uint8_t *, 3 * sizeof(uint32_t)), halves, sizeof(halves));
}

/* One of those that are left, for this worker. */
static bool claim(struct pcapng *capture)
{
    uint32_t left = atomic_load_explicit(&capture->left, memory_order_relaxed);
    while (left > 0 && !atomic_compare_exchange_weak(&capture->left, &left, left - 1))
        ;
    return left > 0;
}

/* The last frame's end is reported, too: `on` is off before the event is. */
static void finish(struct pcapng *capture)
{
    const bool last = atomic_fetch_sub(&capture->unfinished, 1) == 1;
    if (last)
        atomic_store(&capture->on, false);
    if (!atomic_exchange(&capture->told, true) || last)
        eventfd_write(capture->event, 1);
}

static void take(struct pcapng *capture, uint16_t device, const struct rte_mbuf *packet, bool out)
{
    if (!claim(capture))
        return;
    struct rte_mbuf *copy =
        rte_pcapng_copy(device, 0, packet, capture->pool, UINT32_MAX, 0,
                        out ? RTE_PCAPNG_DIRECTION_OUT : RTE_PCAPNG_DIRECTION_IN);
    if (copy)
        set_time(copy);
    if (copy && rte_ring_mp_enqueue(capture->ring, copy) == 0) {
        finish(capture);
        return;
    }
    rte_pktmbuf_free(copy);
    atomic_fetch_add(&capture->lost, 1);
    atomic_fetch_add(&capture->left, 1);
}

void pcapng_take(struct pcapng *capture, uint32_t port, uint16_t device,
                 const struct rte_mbuf *packet, bool out)
{
    if (atomic_load_explicit(&capture->on, memory_order_acquire) &&
        (capture->port == port || capture->port == CAPTURE_ALL))
        take(capture, device, packet, out);
}
