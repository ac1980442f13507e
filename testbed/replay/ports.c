#include "testbed/replay/ports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

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
