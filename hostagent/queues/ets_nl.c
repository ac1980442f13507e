/* The queue driver for the kernel's ets (Linux 5.6) with only strict bands: like prio, and switches
 * can offload it. */
#include "hostagent/queues/bands_nl.h"

#include <linux/pkt_sched.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

static int fill(struct nl_msg *attrs, uint8_t rest)
{
    int r = nla_put_u8(attrs, TCA_ETS_NBANDS, PORT_TRAFFIC);
    if (r >= 0)
        r = nla_put_u8(attrs, TCA_ETS_NSTRICT, PORT_TRAFFIC);
    struct nlattr *map = nla_nest_start(attrs, TCA_ETS_PRIOMAP | NLA_F_NESTED);
    if (!map)
        return -NLE_NOMEM;
    for (int priority = 0; r >= 0 && priority <= TC_PRIO_MAX; priority++)
        r = nla_put_u8(attrs, TCA_ETS_PRIOMAP_BAND, rest);
    nla_nest_end(attrs, map);
    return r;
}

static int put(struct qdisc *qdisc, const struct kernel_place *place, uint8_t rest)
{
    struct nl_msg *attrs = nlmsg_alloc();
    if (!attrs)
        return -NLE_NOMEM;
    int r = fill(attrs, rest);
    if (r >= 0)
        r = kernel_put_attrs(qdisc, place, "ets", attrs);
    nlmsg_free(attrs);
    return r;
}

static bool right_map(struct nlattr *map, uint8_t rest)
{
    struct nlattr *band;
    int left, n = 0;
    nla_for_each_nested(band, map, left) n +=
        nla_type(band) == TCA_ETS_PRIOMAP_BAND && nla_len(band) >= 1 && nla_get_u8(band) == rest;
    return n == TC_PRIO_MAX + 1;
}

static bool is_ten(struct nlattr *attr)
{
    return attr && nla_len(attr) >= 1 && nla_get_u8(attr) == PORT_TRAFFIC;
}

static bool right(const struct raw_qdisc *raw, uint8_t rest)
{
    struct nlattr *attrs[TCA_ETS_MAX + 1], *head = (struct nlattr *)(uintptr_t)raw->options;
    return nla_parse(attrs, TCA_ETS_MAX, head, (int)raw->options_bytes, NULL) >= 0 &&
           is_ten(attrs[TCA_ETS_NBANDS]) && is_ten(attrs[TCA_ETS_NSTRICT]) &&
           attrs[TCA_ETS_PRIOMAP] && right_map(attrs[TCA_ETS_PRIOMAP], rest);
}

const struct bands_kind bands_ets = {"ets", KERNEL_ETS, put, right};

static int ets_facts(struct qdisc *qdisc, const char *port, struct port_facts *ret_facts,
                     struct err *err)
{
    int r = kernel_needs(qdisc, KERNEL_ETS, err);
    return r < 0 ? r : kernel_facts(qdisc, port, ret_facts, err);
}

static int ets_plan(struct qdisc *qdisc, const char *port, const struct port *want,
                    struct qdisc_plan **ret_plan, struct err *err)
{
    return bands_plan(&bands_ets, qdisc, port, want, ret_plan, err);
}

static int ets_apply(struct qdisc *qdisc, const char *port, const struct qdisc_plan *plan,
                     struct err *err)
{
    return bands_apply(&bands_ets, qdisc, port, plan, err);
}

const struct qdisc_driver qdisc_ets = {
    .name = "ets",
    .abilities = {.strict = true, .ecn = true},
    KERNEL_DRIVER,
    .facts = ets_facts,
    .record = kernel_record,
    .plan = ets_plan,
    .say = bands_say,
    .apply = ets_apply,
    .restore = kernel_restore,
    .stats = kernel_stats,
    .marks = kernel_marks,
};
