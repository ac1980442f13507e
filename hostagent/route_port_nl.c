#include "hostagent/route_port_nl.h"

#include "lib/address.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

int route_port_open(struct route_port *ret_routes, struct err *err)
{
    struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    if (socket && mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) >= 0) {
        *ret_routes = (struct route_port){.socket = socket};
        return 0;
    }
    int r = err_sys(err, errno, "looking for the ports of TCP connections");
    if (socket)
        mnl_socket_close(socket);
    return r;
}

void route_port_close(struct route_port *routes)
{
    mnl_socket_close(routes->socket);
}

static void request_fill(const struct mark_flow_key *key, struct nlmsghdr *request)
{
    const bool v4 = address_is_v4(key->local) && address_is_v4(key->peer);
    const size_t from = v4 ? ADDRESS_V4_AT : 0, bytes = sizeof(key->peer) - from;
    struct rtmsg *route = mnl_nlmsg_put_extra_header(request, sizeof(*route));
    route->rtm_family = v4 ? AF_INET : AF_INET6;
    route->rtm_dst_len = route->rtm_src_len = v4 ? 32 : 128;
    mnl_attr_put(request, RTA_DST, bytes, key->peer + from);
    mnl_attr_put(request, RTA_SRC, bytes, key->local + from);
}

static int attribute_take(const struct nlattr *attribute, void *arg)
{
    if (mnl_attr_get_type(attribute) == RTA_OIF &&
        mnl_attr_get_payload_len(attribute) == sizeof(uint32_t))
        *(uint32_t *)arg = mnl_attr_get_u32(attribute);
    return MNL_CB_OK;
}

static int route_take(const struct nlmsghdr *message, void *arg)
{
    mnl_attr_parse(message, sizeof(struct rtmsg), attribute_take, arg);
    return MNL_CB_OK;
}

int route_port_find(struct route_port *routes, const struct mark_flow_key *key,
                    char ret_port[IF_NAMESIZE])
{
    char buffer[8192];
    uint32_t interface = 0;
    struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
    request->nlmsg_type = RTM_GETROUTE;
    request->nlmsg_flags = NLM_F_REQUEST;
    request->nlmsg_seq = ++routes->number;
    request_fill(key, request);
    if (mnl_socket_sendto(routes->socket, request, request->nlmsg_len) < 0)
        return -errno;
    ssize_t got = mnl_socket_recvfrom(routes->socket, buffer, sizeof(buffer));
    int r = got < 0 ? -1
                    : mnl_cb_run(buffer, (size_t)got, routes->number,
                                 mnl_socket_get_portid(routes->socket), route_take, &interface);
    return r < 0 || !if_indextoname(interface, ret_port) ? -errno : 0;
}
