#include "hostagent/marks/listening_nl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

struct ports {
    uint16_t *all;
    uint32_t n, most;
};

static int take(const struct nlmsghdr *message, void *arg)
{
    struct ports *ports = arg;
    const struct inet_diag_msg *found = mnl_nlmsg_get_payload(message);
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*found))
        return MNL_CB_OK;
    if (ports->n == ports->most) {
        uint32_t most = ports->most ? 2 * ports->most : 64;
        uint16_t *larger = realloc(ports->all, most * sizeof(*larger));
        if (!larger)
            return MNL_CB_ERROR;
        ports->all = larger;
        ports->most = most;
    }
    ports->all[ports->n++] = found->id.idiag_sport;
    return MNL_CB_OK;
}

static int list(struct mnl_socket *sock, uint8_t family, struct ports *ports)
{
    char buffer[32768];
    struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
    request->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request->nlmsg_seq = family;
    struct inet_diag_req_v2 *wanted = mnl_nlmsg_put_extra_header(request, sizeof(*wanted));
    *wanted = (struct inet_diag_req_v2){
        .sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1u << TCP_LISTEN};
    if (mnl_socket_sendto(sock, request, request->nlmsg_len) < 0)
        return -errno;
    for (int more = 1; more > 0;) {
        ssize_t got = mnl_socket_recvfrom(sock, buffer, sizeof(buffer));
        if (got < 0 && errno == EINTR)
            continue;
        more = got < 0 ? -1
                       : mnl_cb_run(buffer, (size_t)got, family, mnl_socket_get_portid(sock), take,
                                    ports);
        if (more < 0)
            return -errno;
    }
    return 0;
}

int listening_ports(uint16_t **ret_ports, uint32_t *ret_n, struct err *err)
{
    struct ports ports = {0};
    struct mnl_socket *sock = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
    int r = sock && mnl_socket_bind(sock, 0, MNL_SOCKET_AUTOPID) >= 0 ? 0 : -errno;
    if (r >= 0)
        r = list(sock, AF_INET, &ports);
    if (r >= 0)
        r = list(sock, AF_INET6, &ports);
    if (sock)
        mnl_socket_close(sock);
    if (r < 0) {
        free(ports.all);
        return err_sys(err, -r, "listing the ports on which somebody listens");
    }
    *ret_ports = ports.all;
    *ret_n = ports.n;
    return 0;
}
