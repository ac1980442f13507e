#include "hostagent/links/links_nl.h"

#include "hostagent/nl.h"
#include "lib/now.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct links_nl {
    struct nl_sock *sock;
    struct if_stats_msg request;
    struct links_sample sum;
    uint32_t n, told;
    int ifindexes[];
};

static bool is_ours(const struct links_nl *links, int ifindex)
{
    for (uint32_t i = 0; i < links->n; i++)
        if (links->ifindexes[i] == ifindex)
            return true;
    return false;
}

static int add_stats(struct nl_msg *msg, void *arg)
{
    struct links_nl *links = arg;
    struct nlmsghdr *header = nlmsg_hdr(msg);
    struct if_stats_msg *about = nlmsg_data(header);
    struct nlattr *attrs[IFLA_STATS_MAX + 1];
    struct rtnl_link_stats64 stats;
    if (nlmsg_parse(header, sizeof(*about), attrs, IFLA_STATS_MAX, NULL) < 0 ||
        !attrs[IFLA_STATS_LINK_64] || !is_ours(links, (int)about->ifindex))
        return NL_OK;
    nla_memcpy(&stats, attrs[IFLA_STATS_LINK_64], sizeof(stats));
    links->sum.sent_bytes += stats.tx_bytes;
    links->sum.received_bytes += stats.rx_bytes;
    links->told++;
    return NL_OK;
}

int links_nl_open(const int *ifindexes, uint32_t n, struct links_nl **ret_links, struct err *err)
{
    struct links_nl *links = calloc(1, sizeof(*links) + n * sizeof(links->ifindexes[0]));
    if (!links)
        return err_sys(err, ENOMEM, "links");
    memcpy(links->ifindexes, ifindexes, n * sizeof(ifindexes[0]));
    links->n = n;
    links->request =
        (struct if_stats_msg){.family = AF_UNSPEC,
                              .ifindex = n == 1 ? (uint32_t)ifindexes[0] : 0,
                              .filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64)};
    int r = netlink_open(&links->sock, err);
    if (r < 0) {
        links_nl_close(links);
        return r;
    }
    nl_socket_disable_auto_ack(links->sock);
    nl_socket_modify_cb(links->sock, NL_CB_VALID, NL_CB_CUSTOM, add_stats, links);
    *ret_links = links;
    return 0;
}

void links_nl_close(struct links_nl *links)
{
    if (!links)
        return;
    nl_socket_free(links->sock);
    free(links);
}

int links_nl_read(struct links_nl *links, struct links_sample *ret_sample, struct err *err)
{
    links->sum = (struct links_sample){.at_ns = now_ns(CLOCK_MONOTONIC)};
    links->told = 0;
    int r = nl_send_simple(links->sock, RTM_GETSTATS, links->n == 1 ? 0 : NLM_F_DUMP,
                           &links->request, sizeof(links->request));
    if (r >= 0)
        r = nl_recvmsgs_default(links->sock);
    if (r < 0)
        return netlink_err(err, r, "reading the counters of the links");
    if (links->told < links->n)
        return err_set(err, ENODATA, "%u of %u links have no counters", links->n - links->told,
                       links->n);
    *ret_sample = links->sum;
    return 0;
}
