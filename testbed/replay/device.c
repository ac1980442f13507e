#include "testbed/replay/device.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    WHOLE_MILLI = 1000,
    WRITTEN_AT = 1 << 20 /* where the marks are: far behind the shares */
};

static int open_device(const char *folder, const char *name, struct err *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= PATH_MAX || strchr(name, '/'))
        return err_set(err, ENOENT, "%s cannot be a device in %s", name, folder);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? err_sys(err, errno, "this host has no device %s: %s", name, path) : fd;
}

static struct flock one_byte(off_t at)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
}

/* 0; −EAGAIN: somebody else has it. */
static int lock(int fd, off_t at)
{
    struct flock range = one_byte(at);
    return fcntl(fd, F_OFD_SETLK, &range) == 0 ? 0 : errno == EACCES ? -EAGAIN : -errno;
}

static bool is_locked_by_others(int fd, off_t at)
{
    struct flock range = one_byte(at);
    return fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

static off_t share_at(int share)
{
    return share * (off_t)sizeof(struct device_use);
}

/* A share of it; −EAGAIN: none is free. */
static int lock_share(int fd)
{
    for (int share = 0; share < DEVICE_SHARES; share++) {
        int r = lock(fd, share_at(share));
        if (r != -EAGAIN)
            return r < 0 ? r : share;
    }
    return -EAGAIN;
}

/* What all use that have marked their shares, but the one of ours. */
static struct device_use others_use(int fd, int ours)
{
    struct device_use sum = {0}, use;
    for (int share = 0; share < DEVICE_SHARES; share++) {
        if (share == ours || !is_locked_by_others(fd, WRITTEN_AT + share) ||
            pread(fd, &use, sizeof(use), share_at(share)) != (ssize_t)sizeof(use))
            continue;
        sum.milli += use.milli;
        sum.bytes += use.bytes;
    }
    return sum;
}

static int read_back(int fd, int ours, const struct input_device *device,
                     const struct device_use *use, struct err *err)
{
    const struct device_use others = others_use(fd, ours);
    if (device->bytes && others.bytes + use->bytes > device->bytes)
        return err_set(err, EOVERFLOW,
                       "device %s is over its memory: others use %" PRIu64 " B, this task %" PRIu64
                       " B, of %" PRIu64 " B",
                       device->name, others.bytes, use->bytes, device->bytes);
    if (others.milli + use->milli > WHOLE_MILLI)
        return err_set(err, EOVERFLOW,
                       "device %s is over its time: others use %" PRIu64
                       " per mille, this task %" PRIu64,
                       device->name, others.milli, use->milli);
    return 0;
}

static int take_share(int fd, const struct input_device *device, const struct device_use *use,
                      struct err *err)
{
    int share = lock_share(fd);
    if (share == -EAGAIN)
        return err_set(err, EBUSY, "all %d shares of device %s are taken", DEVICE_SHARES,
                       device->name);
    if (share < 0)
        return err_sys(err, -share, "a lock on device %s", device->name);
    if (pwrite(fd, use, sizeof(*use), share_at(share)) != (ssize_t)sizeof(*use))
        return err_sys(err, errno, "writing into device %s", device->name);
    int r = lock(fd, WRITTEN_AT + share);
    return r < 0 ? err_sys(err, -r, "a lock on device %s", device->name)
                 : read_back(fd, share, device, use, err);
}

int device_take(const char *folder, const struct input *task, uint32_t index,
                struct device_use *ret_use, struct err *err)
{
    const struct input_device *device = &task->devices[index];
    const bool whole = task->n_devices > 1 || task->gpu_milli > WHOLE_MILLI;
    const struct device_use use = {.attempt = task->attempt,
                                   .milli = whole ? WHOLE_MILLI : task->gpu_milli,
                                   .bytes = whole ? 0 : task->gpu_mem_bytes};
    int fd = open_device(folder, device->name, err);
    if (fd < 0)
        return fd;
    int r = take_share(fd, device, &use, err);
    if (r < 0) {
        close(fd);
        return r;
    }
    *ret_use = use;
    return fd;
}

int device_uses_write(int fd, const char *what, const struct input_device *device,
                      const struct device_use *use, struct err *err)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    if (dprintf(fd, "%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", what, device->name,
                device->bytes, use->bytes, use->milli,
                (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) < 0)
        return err_sys(err, errno, "cannot write down the use of device %s", device->name);
    return 0;
}
