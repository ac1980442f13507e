#include "hostagent/marks/echo.h"

#include "hostagent/marks/mark_abi.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#define DISCARD 9

static int set(int sock, int level, int option, int value)
{
    return setsockopt(sock, level, option, &value, sizeof(value));
}

static int prepare(int sock, const char *port, const struct neighbour *to)
{
    bool v4 = to->address.ss_family == AF_INET;
    struct sockaddr_storage address = to->address;
    if (v4)
        ((struct sockaddr_in *)(void *)&address)->sin_port = htons(DISCARD);
    else
        ((struct sockaddr_in6 *)(void *)&address)->sin6_port = htons(DISCARD);
    return setsockopt(sock, SOL_SOCKET, SO_BINDTODEVICE, port, (socklen_t)strlen(port)) < 0 ||
                   set(sock, SOL_SOCKET, SO_PRIORITY, (int)MARK_PROBE) < 0 ||
                   set(sock, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_UNICAST_HOPS, 1) <
                       0 ||
                   connect(sock, (const struct sockaddr *)&address, to->bytes) < 0
               ? -errno
               : 0;
}

int echo_send(const char *port, const struct neighbour *to, int *ret_sock, struct err *err)
{
    static const char text[8] = "duopoly";
    int sock = socket(to->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int r = sock < 0 ? -errno : prepare(sock, port, to);
    if (r >= 0 && send(sock, text, sizeof(text), MSG_NOSIGNAL) < 0)
        r = -errno;
    if (r >= 0) {
        *ret_sock = sock;
        return 0;
    }
    if (sock >= 0)
        close(sock);
    return err_sys(err, -r, "sending a probe by %s", port);
}

bool echo_has_come(int sock, bool *ret_lost)
{
    char bytes[8];
    bool answered = recv(sock, bytes, sizeof(bytes), 0) >= 0 || errno == ECONNREFUSED;
    *ret_lost = !answered && errno != EAGAIN;
    return answered;
}
