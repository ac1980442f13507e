#include "testbed/verify/counters_nl.h"

#include <errno.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/class.h>
#include <netlink/route/tc.h>
#include <string.h>

#include "lib/port/port.h"
#include "testbed/verify/netns.h"

/* The agent's handles, as `tc class show` has them: d00:2 is level 0's on every port. */
enum { MAJOR = 0x0d00, LEVEL0_MINOR = TRAFFIC_LEVEL0 + 1 };

static void take_class(struct rtnl_class *class, struct hops_counters *counters)
{
    uint32_t handle = rtnl_tc_get_handle(TC_CAST(class)), first = LEVEL0_MINOR;
    uint32_t minor = handle & 0xffff;
    if (handle >> 16 != MAJOR || minor < first || minor >= first + HOPS_LEVELS)
        return;
    unsigned level = minor - first;
    counters->served[level] = true;
    counters->packets[level] = rtnl_tc_get_stat(TC_CAST(class), RTNL_TC_PACKETS);
    counters->drops[level] = rtnl_tc_get_stat(TC_CAST(class), RTNL_TC_DROPS);
    counters->waiting += rtnl_tc_get_stat(TC_CAST(class), RTNL_TC_QLEN);
}

static int read_here(const char *port, void *context, struct err *err)
{
    struct hops_counters *counters = context;
    struct nl_cache *cache = NULL;
    struct nl_sock *sock = nl_socket_alloc();
    if (!sock)
        return err_sys(err, ENOMEM, "cannot read the queues of %s", port);
    int index = (int)if_nametoindex(port), r = nl_connect(sock, NETLINK_ROUTE);
    if (r >= 0)
        r = rtnl_class_alloc_cache(sock, index, &cache);
    if (r < 0)
        r = err_set(err, EIO, "cannot read the queues of %s: %s", port, nl_geterror(r));
    else
        for (struct nl_object *o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o))
            take_class((struct rtnl_class *)o, counters);
    if (r >= 0 && !counters->served[0])
        r = err_set(err, ENODATA, "%s has no HTB of duopoly's with queues to count", port);
    nl_cache_free(cache);
    nl_socket_free(sock);
    return r < 0 ? r : 0;
}

int counters_read(const char *where, struct hops_counters *ret_counters, struct err *err)
{
    memset(ret_counters, 0, sizeof(*ret_counters));
    return netns_do(where, read_here, ret_counters, err);
}
