#include "dataplane/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#define LAYOUT 2 /* of struct kept and struct flow */

_Static_assert(sizeof(struct kept) % sizeof(struct flow) == 0, "flows lie on lines of their own");

static size_t bytes_of(uint32_t flows_most)
{
    return sizeof(struct kept) + flows_most * sizeof(struct flow);
}

static bool is_ours(const struct kept *kept, const struct kept *wanted)
{
    return memcmp(kept->boot, wanted->boot, sizeof(kept->boot)) == 0 &&
           kept->layout == wanted->layout && kept->flows_most == wanted->flows_most &&
           kept->parts == wanted->parts && atomic_load(&kept->mode) <= 1;
}

/* Emptied, unless it is exactly what we would make. */
static int size(int fd, const struct kept *wanted)
{
    const size_t bytes = bytes_of(wanted->flows_most);
    struct kept there;
    struct stat stat;
    if (fstat(fd, &stat) < 0)
        return -errno;
    if (!S_ISREG(stat.st_mode))
        return -EINVAL;
    if ((size_t)stat.st_size == bytes && pread(fd, &there, sizeof(there), 0) == sizeof(there) &&
        is_ours(&there, wanted))
        return 0;
    if (ftruncate(fd, 0) < 0)
        return -errno;
    int r = -posix_fallocate(fd, 0, (off_t)bytes);
    if (r < 0)
        return r;
    return pwrite(fd, wanted, sizeof(*wanted), 0) == sizeof(*wanted) ? 0 : -EIO;
}

static int map(int fd, const struct kept *wanted, struct kept **ret_kept)
{
    const size_t bytes = bytes_of(wanted->flows_most);
    int r = size(fd, wanted);
    if (r < 0)
        return r;
    struct kept *kept = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (kept == MAP_FAILED)
        return -errno;
    madvise(kept, bytes, MADV_HUGEPAGE); /* wishes */
    madvise(kept, bytes, MADV_POPULATE_WRITE);
    *ret_kept = kept;
    return 0;
}

int kept_open(const char *socket, uint32_t flows_most, uint32_t parts, struct kept **ret_kept,
              struct err *err)
{
    struct kept wanted = {.layout = LAYOUT, .flows_most = flows_most, .parts = parts};
    char path[128];
    sd_id128_t boot;
    int r = sd_id128_get_boot(&boot);
    if (r < 0)
        return err_sys(err, -r, "asking which boot this is");
    memcpy(wanted.boot, boot.bytes, sizeof(wanted.boot));
    snprintf(path, sizeof(path), "%s.flows", socket);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    r = fd < 0 ? -errno : map(fd, &wanted, ret_kept);
    if (fd >= 0)
        close(fd);
    return r < 0 ? err_sys(err, -r, "%s, where %u flows are kept", path, flows_most) : 0;
}

void kept_close(struct kept *kept)
{
    if (kept)
        munmap(kept, bytes_of(kept->flows_most));
}
