#include "testbed/replay/ports.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>

int ports_open(const char *directory, const struct input *task, struct err *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%" PRIu64 "-%u-%u-%" PRIu64, directory, task->job,
                     task->stage, task->task, task->attempt);
    if (n >= PATH_MAX)
        return err_sys(err, ENAMETOOLONG, "%s", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return fd < 0 ? err_sys(err, errno, "cannot write %s", path) : fd;
}

int ports_write(int fd, const char *what, const struct ports_connection *connection,
                struct err *err)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    if (dprintf(fd, "%s %s %u %s %u %" PRIu64 "\n", what, connection->local, connection->local_port,
                connection->peer, connection->peer_port,
                (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) < 0)
        return err_sys(err, errno, "cannot write down a connection");
    return 0;
}
