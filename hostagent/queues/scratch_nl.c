#include "hostagent/queues/scratch_nl.h"

#include "hostagent/nl.h"
#include "hostagent/queues/bands_nl.h"

#include <linux/pkt_sched.h>
#include <net/if.h>
#include <netlink/route/link.h>

#define HANDLE      ((uint32_t)QDISC_MAJOR << 16)
#define TRIED_BYTES 12500000 /* a second */

static int try_htb(struct qdisc *qdisc, const struct kernel_place *place)
{
    return htb_put_root(qdisc, place->ifindex, QDISC_MINOR(0));
}

static int try_tbf(struct qdisc *qdisc, const struct kernel_place *place)
{
    return bands_put_hold(qdisc, place, TRIED_BYTES, TRIED_BYTES / 100);
}

static int try_prio(struct qdisc *qdisc, const struct kernel_place *place)
{
    return bands_prio.put(qdisc, place, 0);
}

static int try_ets(struct qdisc *qdisc, const struct kernel_place *place)
{
    return bands_ets.put(qdisc, place, 0);
}

static int try_red(struct qdisc *qdisc, const struct kernel_place *place)
{
    const struct leaf leaf = {.limit = TRIED_BYTES / 100, .mark_bytes = TRIED_BYTES / 1000};
    return kernel_put_leaf(qdisc, place->ifindex, TC_H_ROOT, &leaf);
}

/* By software: what a NIC makes of it, only that NIC says. */
static int try_mqprio(struct qdisc *qdisc, const struct kernel_place *place)
{
    const struct tc_mqprio_qopt options = {.num_tc = 2, .count = {1, 1}, .offset = {0, 1}};
    return kernel_put(qdisc, place, "mqprio", &options, sizeof(options));
}

static const struct {
    enum kernel_kind kind;
    const char *name;
    int (*put)(struct qdisc *qdisc, const struct kernel_place *place);
} tries[] = {
    {KERNEL_HTB, "htb", try_htb}, {KERNEL_PRIO, "prio", try_prio},
    {KERNEL_ETS, "ets", try_ets}, {KERNEL_TBF, "tbf", try_tbf},
    {KERNEL_RED, "red", try_red}, {KERNEL_MQPRIO, "mqprio", try_mqprio},
};

const char *scratch_kind_name(uint32_t kind)
{
    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
        if (tries[i].kind == kind)
            return tries[i].name;
    return "?";
}

static int add(struct nl_sock *sock, const char *type)
{
    struct rtnl_link *link = rtnl_link_alloc();
    if (!link)
        return -NLE_NOMEM;
    rtnl_link_set_name(link, SCRATCH_NAME);
    rtnl_link_set_num_tx_queues(link, SCRATCH_QUEUES);
    int r = rtnl_link_set_type(link, type);
    if (r >= 0)
        r = rtnl_link_add(sock, link, NLM_F_CREATE | NLM_F_EXCL);
    rtnl_link_put(link);
    return r;
}

void scratch_remove(struct nl_sock *sock)
{
    struct rtnl_link *link = rtnl_link_alloc();
    if (!link)
        return;
    rtnl_link_set_name(link, SCRATCH_NAME);
    rtnl_link_delete(sock, link);
    rtnl_link_put(link);
}

int scratch_try(struct qdisc *qdisc, uint32_t *ret_can, struct err *err)
{
    uint32_t can = 0;
    if (if_nametoindex(SCRATCH_NAME))
        scratch_remove(qdisc->raw.sock);
    int r = add(qdisc->raw.sock, "dummy");
    if (r < 0)
        r = add(qdisc->raw.sock, "bridge");
    if (r < 0)
        return netlink_err(err, r, "making the interface %s, to try out queues on it",
                           SCRATCH_NAME);
    const struct kernel_place place = {
        .ifindex = (int)if_nametoindex(SCRATCH_NAME), .parent = TC_H_ROOT, .handle = HANDLE};
    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        can |= tries[i].put(qdisc, &place) >= 0 ? tries[i].kind : 0u;
        kernel_delete_root(qdisc, place.ifindex);
    }
    scratch_remove(qdisc->raw.sock);
    *ret_can = can;
    return 0;
}
