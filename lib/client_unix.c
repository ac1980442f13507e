#include "lib/client_transport.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The pointer holds the descriptor. */
static int fd_of(void *wire)
{
    return (int)(intptr_t)wire;
}

static int unix_send(void *wire, const uint8_t *bytes, size_t length)
{
    if (send(fd_of(wire), bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return 0;
    return errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t unix_receive(void *wire, uint8_t *buffer, size_t size)
{
    ssize_t length = recv(fd_of(wire), buffer, size, MSG_DONTWAIT);
    return length >= 0 ? length : errno == EINTR ? -EAGAIN : -errno;
}

static int unix_wait(void *wire, short events, int64_t deadline_ms)
{
    struct pollfd poller = {fd_of(wire), events, 0};
    int r = poll(&poller, 1, client_left_ms(deadline_ms));
    return r > 0 || (r < 0 && errno == EINTR) ? 0 : r == 0 ? -ETIMEDOUT : -errno;
}

static void unix_close(void *wire)
{
    close(fd_of(wire));
}

static int connect_fail(int code, const char *path, struct err *err)
{
    if (code == ENOENT || code == ECONNREFUSED)
        return err_set(err, code,
                       "no controller listens on %s; is duopolyd running, and is this its socket?",
                       path);
    if (code == EACCES)
        return err_set(err, code, "%s may be used by root and the members of its groups only",
                       path);
    if (code == EAGAIN)
        return err_set(err, ETIMEDOUT,
                       "too many clients wait for the listener on %s: does it hang?", path);
    return err_sys(err, code, "cannot connect to %s", path);
}

int client_unix_open(const char *path, struct client_transport *ret_transport, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return err_set(err, ENAMETOOLONG, "%s: a socket's path has at most %zu bytes", path,
                       sizeof(address.sun_path) - 1);
    strcpy(address.sun_path, path);
    /* Does not wait for a listener whose queue is full. */
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int r = connect_fail(errno, path, err);
        if (fd >= 0)
            close(fd);
        return r;
    }
    *ret_transport = (struct client_transport){.wire = (void *)(intptr_t)fd,
                                               .send = unix_send,
                                               .receive = unix_receive,
                                               .wait = unix_wait,
                                               .fd = fd_of,
                                               .close = unix_close};
    snprintf(ret_transport->name, sizeof(ret_transport->name), "%s", path);
    return 0;
}
