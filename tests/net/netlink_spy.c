/* Loaded into a program by LD_PRELOAD: every netlink message that it sends is written to the file
 * that NETLINK_SPY names, as it was sent. */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void keep(int fd, const void *bytes, size_t size)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    const char *path = getenv("NETLINK_SPY");
    if (!path || getsockname(fd, (struct sockaddr *)&address, &length) < 0 ||
        address.ss_family != AF_NETLINK)
        return;
    int out = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (out < 0 || write(out, bytes, size) != (ssize_t)size)
        abort();
    close(out);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t (*next)(int, const struct msghdr *, int) =
        (ssize_t(*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
    for (size_t i = 0; i < message->msg_iovlen; i++)
        keep(fd, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
    return next(fd, message, flags);
}

ssize_t sendto(int fd, const void *bytes, size_t size, int flags, const struct sockaddr *to,
               socklen_t length)
{
    ssize_t (*next)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) =
        (ssize_t(*)(int, const void *, size_t, int, const struct sockaddr *, socklen_t))dlsym(
            RTLD_NEXT, "sendto");
    keep(fd, bytes, size);
    return next(fd, bytes, size, flags, to, length);
}
