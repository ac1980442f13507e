#include "testbed/replay/blocks.h"

#include "lib/now.h"
#include "lib/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

enum { CHUNK = 8 * BLOCKS_UNIT };

/* Its file (schemas/devices.md). */
struct meter {
    uint64_t bytes_s;
    _Atomic uint64_t free_ns; /* when the disk will have read all that it was asked for */
};

struct blocks {
    int fd;
    bool direct; /* around the cache */
    uint64_t size, at;
    uint64_t bytes_s;
    uint64_t due_ns; /* the next chunk is not asked for before */
    uint64_t bytes;  /* that were read */
    bool counts;     /* the kernel does */
    uint64_t counted_before;
    struct meter *meter;
    void *buffer;
};

/* ---- what the kernel counts ---- */

/* What this process has read from disks; false: the kernel does not say. */
static bool counted(uint64_t *ret_bytes)
{
    static const char word[] = "\nread_bytes: ";
    char text[512];
    int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *at = strstr(text, word);
    return at && number_take(at + sizeof(word) - 1, UINT64_MAX, ret_bytes);
}

int blocks_write_down(int fd, const struct blocks *blocks, struct err *err)
{
    uint64_t now = 0;
    char seen[24] = "-";
    if (blocks->counts && counted(&now))
        snprintf(seen, sizeof(seen), "%" PRIu64, now - blocks->counted_before);
    if (dprintf(fd, "read %" PRIu64 " %s %s\n", blocks->bytes, seen,
                blocks->direct ? "direct" : "dropped") < 0)
        return err_sys(err, errno, "cannot write down what was read");
    return 0;
}

/* ---- open and close ---- */

static int open_file(struct blocks *blocks, const char *path, struct err *err)
{
    struct stat st;
    blocks->fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    blocks->direct = blocks->fd >= 0;
    if (blocks->fd < 0 && errno == EINVAL)
        blocks->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (blocks->fd < 0 || fstat(blocks->fd, &st) < 0)
        return err_sys(err, errno, "cannot open this host's blocks %s", path);
    if (!S_ISREG(st.st_mode) || st.st_size < BLOCKS_UNIT || st.st_size % BLOCKS_UNIT)
        return err_set(err, EINVAL,
                       "%s cannot be this host's blocks: it must be a file of a multiple of %d "
                       "bytes",
                       path, BLOCKS_UNIT);
    blocks->size = (uint64_t)st.st_size;
    /* WHY: what the kernel would read ahead the task has not asked for. */
    if (!blocks->direct)
        posix_fadvise(blocks->fd, 0, 0, POSIX_FADV_RANDOM);
    return 0;
}

static int open_meter(struct blocks *blocks, const char *path, struct err *err)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "cannot open the meter %s of this host's disk", path);
    bool whole = fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(struct meter);
    void *there = whole
                      ? mmap(NULL, sizeof(struct meter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                      : MAP_FAILED;
    close(fd);
    if (there != MAP_FAILED)
        blocks->meter = there;
    return blocks->meter && blocks->meter->bytes_s
               ? 0
               : err_set(err, EINVAL,
                         "%s is no meter of a disk: it must have a rate above 0 and a time, each "
                         "of 64 bits",
                         path);
}

int blocks_open(const char *path, const char *meter, uint64_t bytes_s, uint64_t place,
                struct blocks **ret_blocks, struct err *err)
{
    struct blocks *blocks = calloc(1, sizeof(*blocks));
    if (!blocks)
        return err_sys(err, ENOMEM, "%s", path);
    *blocks = (struct blocks){.fd = -1, .bytes_s = bytes_s};
    int r = open_file(blocks, path, err);
    if (r == 0 && meter)
        r = open_meter(blocks, meter, err);
    if (r == 0 && (r = -posix_memalign(&blocks->buffer, BLOCKS_UNIT, CHUNK)) < 0)
        err_sys(err, -r, "%s", path);
    if (r < 0) {
        blocks_close(blocks);
        return r;
    }
    /* WHY not the same place for all: neighbours of what another task has just read may be in the
     * disk's own cache. */
    blocks->at = place * 977 % (blocks->size / BLOCKS_UNIT) * BLOCKS_UNIT;
    blocks->counts = counted(&blocks->counted_before);
    *ret_blocks = blocks;
    return 0;
}

void blocks_close(struct blocks *blocks)
{
    if (!blocks)
        return;
    if (blocks->fd >= 0)
        close(blocks->fd);
    if (blocks->meter)
        munmap(blocks->meter, sizeof(*blocks->meter));
    free(blocks->buffer);
    free(blocks);
}

/* ---- read ---- */

/* When the disk will have read these bytes, behind all that were asked for before. */
static uint64_t meter_take(struct meter *meter, uint64_t bytes, uint64_t now)
{
    uint64_t free_ns = atomic_load(&meter->free_ns), end;
    do
        end = (free_ns > now ? free_ns : now) + bytes * SECOND / meter->bytes_s;
    while (!atomic_compare_exchange_weak(&meter->free_ns, &free_ns, end));
    return end;
}

static void wait_until(uint64_t ns)
{
    const struct timespec until = {(time_t)(ns / SECOND), (long)(ns % SECOND)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int read_from_disk(struct blocks *blocks, uint64_t n, struct err *err)
{
    if (!blocks->direct)
        posix_fadvise(blocks->fd, (off_t)blocks->at, (off_t)n, POSIX_FADV_DONTNEED);
    ssize_t got = pread(blocks->fd, blocks->buffer, n, (off_t)blocks->at);
    if (got < 0)
        return err_sys(err, errno, "cannot read this host's blocks");
    if ((uint64_t)got != n)
        return err_set(err, EIO, "this host's blocks end at byte %" PRIu64 ", where they did not",
                       blocks->at + (uint64_t)got);
    blocks->at = (blocks->at + n) % blocks->size;
    blocks->bytes += n;
    return 0;
}

static int read_chunk(struct blocks *blocks, uint64_t wanted, struct err *err)
{
    uint64_t whole = (wanted + BLOCKS_UNIT - 1) / BLOCKS_UNIT * BLOCKS_UNIT;
    uint64_t n = least(least(whole, CHUNK), blocks->size - blocks->at);
    uint64_t lone_ns = n * SECOND / blocks->bytes_s, now = now_ns(CLOCK_MONOTONIC);
    /* WHY it may be late by one chunk: else each wake-up's delay would lower the lone rate. */
    uint64_t begin = blocks->due_ns + lone_ns > now ? blocks->due_ns : now;
    uint64_t free_ns = blocks->meter ? meter_take(blocks->meter, n, now) : 0;
    int r = read_from_disk(blocks, n, err);
    if (r < 0)
        return r;
    blocks->due_ns = begin + lone_ns;
    wait_until(blocks->due_ns > free_ns ? blocks->due_ns : free_ns);
    return 0;
}

int blocks_read(struct blocks *blocks, uint64_t until, struct err *err)
{
    int r = 0;
    blocks->due_ns = 0; /* what it did meanwhile is no credit */
    while (r == 0 && blocks->bytes < until)
        r = read_chunk(blocks, until - blocks->bytes, err);
    return r;
}
