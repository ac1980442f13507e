#include "hostagent/marks/neighbours_nl.h"

#include "hostagent/nl.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT)

struct reading {
    struct neighbour *neighbours;
    uint32_t n;
};

static void take_v4(struct neighbour *neighbour, const void *address)
{
    struct sockaddr_in *to = (void *)&neighbour->address;
    to->sin_family = AF_INET;
    memcpy(&to->sin_addr, address, sizeof(to->sin_addr));
    neighbour->bytes = sizeof(*to);
}

static void take_v6(struct neighbour *neighbour, const void *address)
{
    struct sockaddr_in6 *to = (void *)&neighbour->address;
    to->sin6_family = AF_INET6;
    memcpy(&to->sin6_addr, address, sizeof(to->sin6_addr));
    to->sin6_scope_id = IN6_IS_ADDR_LINKLOCAL(&to->sin6_addr) ? (uint32_t)neighbour->ifindex : 0;
    neighbour->bytes = sizeof(*to);
}

static int on_neighbour(struct nl_msg *msg, void *arg)
{
    struct reading *reading = arg;
    struct nlmsghdr *header = nlmsg_hdr(msg);
    const struct ndmsg *nd = nlmsg_data(header);
    struct nlattr *address = nlmsg_find_attr(header, sizeof(*nd), NDA_DST);
    if (!(nd->ndm_state & KNOWN) || !address || reading->n == NEIGHBOURS_MOST)
        return NL_OK;
    struct neighbour *neighbour = &reading->neighbours[reading->n];
    *neighbour = (struct neighbour){.ifindex = nd->ndm_ifindex};
    if (nd->ndm_family == AF_INET && nla_len(address) == sizeof(struct in_addr))
        take_v4(neighbour, nla_data(address));
    else if (nd->ndm_family == AF_INET6 && nla_len(address) == sizeof(struct in6_addr))
        take_v6(neighbour, nla_data(address));
    reading->n += neighbour->bytes > 0;
    return NL_OK;
}

int neighbours_read(struct neighbour **ret_neighbours, uint32_t *ret_n, struct err *err)
{
    static const unsigned char families[] = {AF_INET, AF_INET6};
    struct reading reading = {.neighbours = calloc(NEIGHBOURS_MOST, sizeof(struct neighbour))};
    struct nl_sock *sock = NULL;
    if (!reading.neighbours)
        return err_sys(err, ENOMEM, "neighbours");
    int r = netlink_open(&sock, err);
    for (int i = 0; r >= 0 && i < 2; i++) {
        struct ndmsg request = {.ndm_family = families[i]};
        r = netlink_dump(sock, RTM_GETNEIGH, &request, sizeof(request), on_neighbour, &reading);
        if (r < 0)
            r = netlink_err(err, r, "reading neighbours");
    }
    nl_socket_free(sock);
    if (r < 0) {
        free(reading.neighbours);
        return r;
    }
    *ret_neighbours = reading.neighbours;
    *ret_n = reading.n;
    return 0;
}
