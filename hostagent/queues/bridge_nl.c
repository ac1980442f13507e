#include "hostagent/nl.h"
#include "hostagent/queues/queues.h"

#include <errno.h>
#include <netlink/cache.h>
#include <netlink/route/link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int list_slaves(struct nl_cache *links, int master, char (*ports)[PORT_NAME],
                       uint32_t *ret_n)
{
    uint32_t n = 0;
    for (struct nl_object *o = nl_cache_get_first(links); o; o = nl_cache_get_next(o)) {
        struct rtnl_link *link = (struct rtnl_link *)o;
        if (rtnl_link_get_master(link) != master || rtnl_link_get_family(link) != AF_UNSPEC)
            continue;
        if (n == QUEUES_PORTS)
            return -E2BIG;
        snprintf(ports[n++], PORT_NAME, "%s", rtnl_link_get_name(link));
    }
    qsort(ports, n, sizeof(ports[0]), by_name);
    *ret_n = n;
    return 0;
}

int queues_bridge_ports(const char *bridge, char (*ports)[PORT_NAME], uint32_t *ret_n,
                        struct err *err)
{
    struct nl_sock *sock;
    struct nl_cache *links;
    int r = netlink_open(&sock, err);
    if (r < 0)
        return r;
    r = rtnl_link_alloc_cache(sock, AF_UNSPEC, &links);
    nl_socket_free(sock);
    if (r < 0)
        return netlink_err(err, r, "listing interfaces");
    int master = rtnl_link_name2i(links, bridge);
    if (!master)
        r = err_set(err, ENODEV, "there is no bridge %s in this network namespace", bridge);
    else if (list_slaves(links, master, ports, ret_n) < 0)
        r = err_set(err, E2BIG, "%s has more than %d ports", bridge, QUEUES_PORTS);
    nl_cache_free(links);
    return r;
}
