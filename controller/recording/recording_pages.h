/* Makes this process cheap to fork: moves its memory into huge pages.
 *
 * WHY: a fork copies page tables, and the loop waits for it: 0.14 µs for each page of 4 kB, 10 ms
 * for 10⁶ tasks (300 MB). A huge page of 2 MB costs as little as a small one.
 *
 * WHY not when memory is allocated (MADV_HUGEPAGE, or the C library's tunable): where memory is
 * fragmented, a page fault of the loop would wait until the kernel has moved enough pages of others
 * away; memory that is there in part would become whole; and what the loop writes to while a child
 * lives is split into small pages, so the next fork would be dear again. WHY not a second process
 * that follows the recording: it would double memory and the cost of deciding for good.
 *
 * So just before a fork a thread asks for it (MADV_COLLAPSE, since Linux 6.1). While the kernel
 * looks for a free huge page it holds nothing of ours; then it copies 2 MB, and a loop that touches
 * just these waits for 0.5 ms (6 ms in a virtual machine whose host has not given it that memory
 * yet). At the begin of a call the kernel also has every processor do something, before which no
 * memory can be mapped: on a machine with too much to do that is some ms, so calls are few. Between
 * two the thread rests as long as one took, or 10 ms. It has the loop's priority: while it copies,
 * others must not keep the processor from it.
 *
 * Memory does not grow: only ranges that are there whole are moved. What cannot be moved stays as
 * it is, and a fork takes longer: recording_pages_words says why. Nothing is kept after a fork. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define RECORDING_PAGES_MS 4000

struct recording_pages {
    bool open;
    int ended; /* an eventfd: can be read once the thread has ended */
    pthread_t thread;
    bool begun; /* there is a thread */
    _Atomic bool stop;
    /* The thread's until it has ended. */
    uint64_t until_ns;
    uint32_t moved, refused; /* calls for some ranges each */
    int error;               /* of the last refused one */
};

/* 0 or −errno. */
int recording_pages_init(struct recording_pages *pages);
/* Waits for the thread to end what it does. A zeroed one is fine. */
void recording_pages_done(struct recording_pages *pages);

/* True: fork now. False: a thread moves memory, for about RECORDING_PAGES_MS at most; call again
 * when `ended` can be read, or later. Without much memory there is none. */
bool recording_pages_ready(struct recording_pages *pages);

/* Why memory may still lie in small pages, behind a sentence; "" when nothing was in the way. */
const char *recording_pages_words(const struct recording_pages *pages);
