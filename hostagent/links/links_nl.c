#include "hostagent/links/links_nl.h"

#include "hostagent/nl.h"
#include "lib/now.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdlib.h>

struct numbered {
    int ifindex;
    uint32_t place;
};

struct links_nl {
    struct nl_sock *sock;
    struct if_stats_msg request;
    uint64_t at_ns;
    uint32_t n, told;
    struct numbered *by_number;
    struct link_counters counters[];
};

static int by_number(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    return (x->ifindex > y->ifindex) - (x->ifindex < y->ifindex);
}

static int add_stats(struct nl_msg *msg, void *arg)
{
    struct links_nl *links = arg;
    struct nlmsghdr *header = nlmsg_hdr(msg);
    struct if_stats_msg *about = nlmsg_data(header);
    const struct numbered wanted = {.ifindex = (int)about->ifindex};
    const struct numbered *ours =
        bsearch(&wanted, links->by_number, links->n, sizeof(wanted), by_number);
    struct nlattr *attrs[IFLA_STATS_MAX + 1];
    struct rtnl_link_stats64 stats;
    if (!ours || nlmsg_parse(header, sizeof(*about), attrs, IFLA_STATS_MAX, NULL) < 0 ||
        !attrs[IFLA_STATS_LINK_64])
        return NL_OK;
    nla_memcpy(&stats, attrs[IFLA_STATS_LINK_64], sizeof(stats));
    links->counters[ours->place] =
        (struct link_counters){.sent_bytes = stats.tx_bytes,
                               .received_bytes = stats.rx_bytes,
                               .dropped = stats.tx_dropped + stats.rx_dropped};
    links->told++;
    return NL_OK;
}

int links_nl_open(const int *ifindexes, uint32_t n, struct links_nl **ret_links, struct err *err)
{
    struct links_nl *links = calloc(1, sizeof(*links) + n * sizeof(links->counters[0]));
    struct numbered *numbers = calloc(n, sizeof(*numbers));
    if (!links || !numbers) {
        free(links);
        free(numbers);
        return err_sys(err, ENOMEM, "links");
    }
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = (struct numbered){ifindexes[i], i};
    qsort(numbers, n, sizeof(*numbers), by_number);
    links->by_number = numbers;
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
    free(links->by_number);
    free(links);
}

int links_nl_read(struct links_nl *links, struct err *err)
{
    links->at_ns = now_ns(CLOCK_MONOTONIC);
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
    return 0;
}

uint64_t links_nl_at_ns(const struct links_nl *links)
{
    return links->at_ns;
}

const struct link_counters *links_nl_counters(const struct links_nl *links)
{
    return links->counters;
}

struct links_sample links_nl_sum(const struct links_nl *links)
{
    struct links_sample sum = {.at_ns = links->at_ns};
    for (uint32_t i = 0; i < links->n; i++) {
        sum.sent_bytes += links->counters[i].sent_bytes;
        sum.received_bytes += links->counters[i].received_bytes;
    }
    return sum;
}
