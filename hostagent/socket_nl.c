#include "hostagent/socket_nl.h"

#include "lib/address.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

int socket_nl_open(struct socket_nl *ret_sockets, struct err *err)
{
    struct mnl_socket *socket = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
    if (socket && mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) >= 0) {
        *ret_sockets = (struct socket_nl){.socket = socket};
        return 0;
    }
    int r = err_sys(err, errno, "looking for the owners of TCP sockets");
    if (socket)
        mnl_socket_close(socket);
    return r;
}

void socket_nl_close(struct socket_nl *sockets)
{
    mnl_socket_close(sockets->socket);
}

static void request_fill(const struct mark_flow_key *key, struct inet_diag_req_v2 *request)
{
    const bool v4 = address_is_v4(key->local) && address_is_v4(key->peer);
    const size_t from = v4 ? ADDRESS_V4_AT : 0;
    *request =
        (struct inet_diag_req_v2){.sdiag_family = v4 ? AF_INET : AF_INET6,
                                  .sdiag_protocol = IPPROTO_TCP,
                                  .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                                  .idiag_states = ~0u,
                                  .id.idiag_sport = key->local_port,
                                  .id.idiag_dport = key->peer_port,
                                  .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
    memcpy(request->id.idiag_src, key->local + from, sizeof(key->local) - from);
    memcpy(request->id.idiag_dst, key->peer + from, sizeof(key->peer) - from);
}

static bool has_member(size_t bytes, size_t offset)
{
    return bytes >= offset + sizeof(uint64_t);
}

static void info_take(const struct nlattr *attribute, struct socket_seen *seen)
{
    struct tcp_info info = {0};
    const size_t n = mnl_attr_get_payload_len(attribute);
    memcpy(&info, mnl_attr_get_payload(attribute), n < sizeof(info) ? n : sizeof(info));
    seen->counted = has_member(n, offsetof(struct tcp_info, tcpi_bytes_acked)) &&
                    has_member(n, offsetof(struct tcp_info, tcpi_bytes_received));
    seen->sent_bytes = info.tcpi_bytes_acked;
    seen->received_bytes = info.tcpi_bytes_received;
}

static int attribute_take(const struct nlattr *attribute, void *arg)
{
    struct socket_seen *seen = arg;
    if (mnl_attr_get_type(attribute) == INET_DIAG_INFO)
        info_take(attribute, seen);
    else if (mnl_attr_get_type(attribute) == INET_DIAG_CGROUP_ID &&
             mnl_attr_get_payload_len(attribute) == sizeof(seen->cgroup))
        memcpy(&seen->cgroup, mnl_attr_get_payload(attribute), sizeof(seen->cgroup));
    return MNL_CB_OK;
}

static void end_fill(const struct inet_diag_msg *found, const void *from, uint8_t ret_address[16])
{
    const bool v4 = found->idiag_family == AF_INET;
    memset(ret_address, 0, 16);
    if (v4)
        memset(ret_address + ADDRESS_V4_AT - 2, 0xff, 2);
    memcpy(ret_address + (v4 ? ADDRESS_V4_AT : 0), from, v4 ? 4 : 16);
}

void socket_nl_read(const struct nlmsghdr *message, struct mark_flow_key *ret_key,
                    struct socket_seen *ret_seen)
{
    const struct inet_diag_msg *found = mnl_nlmsg_get_payload(message);
    *ret_key = (struct mark_flow_key){.local_port = found->id.idiag_sport,
                                      .peer_port = found->id.idiag_dport};
    *ret_seen = (struct socket_seen){0};
    end_fill(found, found->id.idiag_src, ret_key->local);
    end_fill(found, found->id.idiag_dst, ret_key->peer);
    mnl_attr_parse(message, sizeof(*found), attribute_take, ret_seen);
}

/* Where no connection is left, the kernel answers with a listening socket of that port. */
static int found_take(const struct nlmsghdr *message, void *arg)
{
    const struct inet_diag_msg *found = mnl_nlmsg_get_payload(message);
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*found) || !found->id.idiag_dport) {
        errno = ENOENT;
        return MNL_CB_ERROR;
    }
    *(struct socket_seen *)arg = (struct socket_seen){0};
    mnl_attr_parse(message, sizeof(*found), attribute_take, arg);
    return MNL_CB_OK;
}

int socket_nl_find(struct socket_nl *sockets, const struct mark_flow_key *key,
                   struct socket_seen *ret_seen)
{
    char buffer[8192];
    struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
    request->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request->nlmsg_flags = NLM_F_REQUEST;
    request->nlmsg_seq = ++sockets->number;
    request_fill(key, mnl_nlmsg_put_extra_header(request, sizeof(struct inet_diag_req_v2)));
    if (mnl_socket_sendto(sockets->socket, request, request->nlmsg_len) < 0)
        return -errno;
    ssize_t got = mnl_socket_recvfrom(sockets->socket, buffer, sizeof(buffer));
    int r = got < 0 ? -1
                    : mnl_cb_run(buffer, (size_t)got, sockets->number,
                                 mnl_socket_get_portid(sockets->socket), found_take, ret_seen);
    return r < 0 ? -errno : 0;
}
