#include "hostagent/disk/disk_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { TEXT_MOST = 65536 }; /* some six hundred devices; those behind are not found */

struct disk_watch {
    int fd;
    uint32_t major, minor;
    uint64_t looked_ns; /* 0: never */
    struct disk_health health;
    char text[TEXT_MOST + 1];
};

/* /proc gives as much at once as it has ready. */
static bool read_counters(struct disk_watch *watch, struct disk_counters *ret_counters)
{
    size_t used = 0;
    for (ssize_t n = 1; n > 0 && used<TEXT_MOST; used += n> 0 ? (size_t)n : 0)
        n = pread(watch->fd, watch->text + used, TEXT_MOST - used, (off_t)used);
    watch->text[used] = '\0';
    return disk_text_stats(watch->text, watch->major, watch->minor, ret_counters);
}

int disk_watch_open(const char *folder, struct disk_watch **ret_watch, struct err *err)
{
    struct disk_watch *watch = calloc(1, sizeof(*watch));
    struct disk_counters counters;
    struct stat status;
    if (!watch)
        return err_sys(err, ENOMEM, "the disk");
    watch->fd = open("/proc/diskstats", O_RDONLY | O_CLOEXEC);
    int r = watch->fd < 0               ? err_sys(err, errno, "opening /proc/diskstats")
            : stat(folder, &status) < 0 ? err_sys(err, errno, "looking for the disk of %s", folder)
                                        : 0;
    if (r == 0) {
        watch->major = major(status.st_dev);
        watch->minor = minor(status.st_dev);
        if (!read_counters(watch, &counters))
            r = err_set(err, ENODEV, "no block device is below %s (device %u:%u)", folder,
                        watch->major, watch->minor);
    }
    if (r < 0) {
        disk_watch_close(watch);
        return r;
    }
    *ret_watch = watch;
    return 0;
}

void disk_watch_close(struct disk_watch *watch)
{
    if (!watch)
        return;
    if (watch->fd >= 0)
        close(watch->fd);
    free(watch);
}

const struct disk_health *disk_watch_look(struct disk_watch *watch, uint64_t now_ns)
{
    static const struct disk_health unknown;
    struct disk_counters counters;
    if (!watch)
        return &unknown;
    if (watch->looked_ns && now_ns - watch->looked_ns < DISK_LOOK_NS)
        return &watch->health;
    watch->looked_ns = now_ns;
    if (read_counters(watch, &counters))
        disk_health_add(&watch->health, now_ns, &counters);
    return &watch->health;
}
