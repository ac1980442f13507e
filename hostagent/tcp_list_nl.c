#include "hostagent/tcp_list_nl.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

static int list(struct mnl_socket *sock, const struct inet_diag_req_v2 *wanted, mnl_cb_t each,
                void *user)
{
    char buffer[32768];
    const unsigned number = wanted->sdiag_family;
    struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
    request->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request->nlmsg_seq = number;
    *(struct inet_diag_req_v2 *)mnl_nlmsg_put_extra_header(request, sizeof(*wanted)) = *wanted;
    if (mnl_socket_sendto(sock, request, request->nlmsg_len) < 0)
        return -errno;
    for (int more = 1; more > 0;) {
        ssize_t got = mnl_socket_recvfrom(sock, buffer, sizeof(buffer));
        if (got < 0 && errno == EINTR)
            continue;
        more = got < 0 ? -1
                       : mnl_cb_run(buffer, (size_t)got, number, mnl_socket_get_portid(sock), each,
                                    user);
        if (more < 0)
            return -errno;
    }
    return 0;
}

int tcp_list(uint32_t states, uint8_t extensions, mnl_cb_t each, void *user, struct err *err)
{
    struct inet_diag_req_v2 wanted = {.sdiag_family = AF_INET,
                                      .sdiag_protocol = IPPROTO_TCP,
                                      .idiag_ext = extensions,
                                      .idiag_states = states};
    struct mnl_socket *sock = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
    int r = sock && mnl_socket_bind(sock, 0, MNL_SOCKET_AUTOPID) >= 0 ? 0 : -errno;
    if (r >= 0)
        r = list(sock, &wanted, each, user);
    wanted.sdiag_family = AF_INET6;
    if (r >= 0)
        r = list(sock, &wanted, each, user);
    if (sock)
        mnl_socket_close(sock);
    return r < 0 ? err_sys(err, -r, "listing TCP sockets") : 0;
}
