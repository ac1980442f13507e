#include "hostagent/links/links_nl.h"

#include "hostagent/nl.h"
#include "lib/now.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdlib.h>

struct links_nl {
    struct nl_sock *sock;
    struct if_stats_msg request;
    struct links_sample sample;
};

static int keep_stats(struct nl_msg *msg, void *arg)
{
    struct links_nl *links = arg;
    struct nlattr *attrs[IFLA_STATS_MAX + 1];
    struct rtnl_link_stats64 stats;
    if (nlmsg_parse(nlmsg_hdr(msg), sizeof(struct if_stats_msg), attrs, IFLA_STATS_MAX, NULL) < 0 ||
        !attrs[IFLA_STATS_LINK_64])
        return NL_OK;
    nla_memcpy(&stats, attrs[IFLA_STATS_LINK_64], sizeof(stats));
    links->sample = (struct links_sample){.at_ns = now_ns(CLOCK_MONOTONIC),
                                          .sent_bytes = stats.tx_bytes,
                                          .received_bytes = stats.rx_bytes};
    return NL_OK;
}

int links_nl_open(const char *port, struct links_nl **ret_links, struct err *err)
{
    struct links_nl *links = calloc(1, sizeof(*links));
    if (!links)
        return err_sys(err, ENOMEM, "links");
    links->request =
        (struct if_stats_msg){.family = AF_UNSPEC,
                              .ifindex = if_nametoindex(port),
                              .filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64)};
    int r = links->request.ifindex
                ? netlink_open(&links->sock, err)
                : err_set(err, ENODEV, "there is no interface %s in this network namespace", port);
    if (r < 0) {
        links_nl_close(links);
        return r;
    }
    nl_socket_disable_auto_ack(links->sock);
    nl_socket_modify_cb(links->sock, NL_CB_VALID, NL_CB_CUSTOM, keep_stats, links);
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
    links->sample.at_ns = 0;
    int r = nl_send_simple(links->sock, RTM_GETSTATS, 0, &links->request, sizeof(links->request));
    if (r >= 0)
        r = nl_recvmsgs_default(links->sock);
    if (r < 0)
        return netlink_err(err, r, "reading the counters of interface %u", links->request.ifindex);
    if (!links->sample.at_ns)
        return err_set(err, ENODATA, "interface %u has no counters", links->request.ifindex);
    *ret_sample = links->sample;
    return 0;
}
