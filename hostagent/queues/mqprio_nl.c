/* The queue driver for a multi-queue NIC that serves the classes itself: mqprio with hardware
 * offload, and the DCB entries that map code points in such a NIC. Floors and ECN are left to the
 * NIC, and it does not shape.
 *
 * Entries are set only where there are none: existing ones are another owner's, and the port is not
 * changed. They are removed before the qdisc, so that their owner is known as long as they
 * exist. */
#include "hostagent/nl.h"
#include "hostagent/queues/kernel_nl.h"
#include "hostagent/queues/mqprio.h"

#include <errno.h>
#include <netlink/route/class.h>
#include <netlink/route/link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASS_MINOR 0xffe0 /* of traffic class 0 (the kernel's TC_H_MIN_PRIORITY) */

static const struct dcb_table nothing = {{[0 ... DCB_CODE_POINTS - 1] = DCB_NONE}};

struct mqprio_plan {
    struct qdisc_plan plan; /* first: the others know this part */
    bool qdisc, entries;
    union mqprio_options mqprio;
    struct dcb_table want, have;
};

/* The port's tx queues. */
static int tx_queues(struct qdisc *qdisc, const char *port, uint32_t *ret_n, struct err *err)
{
    struct rtnl_link *link = NULL;
    if (rtnl_link_get_kernel(qdisc->raw.sock, 0, port, &link) < 0 || !link)
        return err_set(err, ENODEV, "there is no interface %s in this network namespace", port);
    *ret_n = rtnl_link_get_num_tx_queues(link);
    rtnl_link_put(link);
    return 0;
}

static int mqprio_facts(struct qdisc *qdisc, const char *port, struct port_facts *ret_facts,
                        struct err *err)
{
    struct dcb_table table;
    uint32_t queues = 0;
    int r = kernel_facts(qdisc, port, ret_facts, err);
    if (r >= 0)
        r = kernel_needs(qdisc, KERNEL_MQPRIO, err);
    if (r >= 0)
        r = dcb_read(qdisc->raw.sock, port, &table, err);
    if (r >= 0)
        r = tx_queues(qdisc, port, &queues, err);
    if (r < 0)
        return r;
    ret_facts->queues_n = queues < DCB_PRIORITIES ? queues : DCB_PRIORITIES;
    ret_facts->abilities = qdisc_mqprio.abilities;
    return 0;
}

static bool same_options(const struct raw_qdisc *root, const struct tc_mqprio_qopt *want)
{
    struct tc_mqprio_qopt have;
    if (strcmp(root->kind, "mqprio") != 0 || root->options_bytes < sizeof(have))
        return false;
    memcpy(&have, root->options, sizeof(have));
    return have.num_tc == want->num_tc && have.hw == want->hw &&
           memcmp(have.prio_tc_map, want->prio_tc_map, sizeof(have.prio_tc_map)) == 0;
}

static int look(struct qdisc *qdisc, const char *port, struct mqprio_plan *plan, struct err *err)
{
    struct raw_list list;
    int r = raw_read(&qdisc->raw, port, &list, err);
    if (r >= 0)
        r = dcb_read(qdisc->raw.sock, port, &plan->have, err);
    if (r < 0)
        return r;
    const struct raw_qdisc *root = raw_root(&list);
    plan->qdisc = !root || !kernel_is_ours(root) || !same_options(root, &plan->mqprio.options);
    plan->entries = memcmp(&plan->want, &plan->have, sizeof(plan->want)) != 0;
    plan->plan.steps = plan->qdisc + plan->entries;
    if (root) {
        snprintf(plan->plan.kind, sizeof(plan->plan.kind), "%s", root->kind);
        plan->plan.root = kernel_is_ours(root) ? QDISC_OURS : QDISC_FOREIGN;
    }
    return 0;
}

static int mqprio_plan(struct qdisc *qdisc, const char *port, const struct port *want,
                       struct qdisc_plan **ret_plan, struct err *err)
{
    uint32_t queues = 0;
    if (want->held)
        return err_set(err, EOPNOTSUPP,
                       "mqprio holds no rate below that of %s itself: leave its rate out "
                       "(link.rate, link.rates), or name another queues.driver",
                       port);
    struct mqprio_plan *plan = calloc(1, sizeof(*plan));
    int r = plan ? tx_queues(qdisc, port, &queues, err) : err_sys(err, ENOMEM, "queues");
    if (r >= 0) {
        mqprio_options(want, queues, &plan->mqprio.options);
        mqprio_entries(want, &plan->want);
        r = look(qdisc, port, plan, err);
    }
    if (r < 0) {
        free(plan);
        return r;
    }
    *ret_plan = &plan->plan;
    return 0;
}

static void mqprio_say(const struct qdisc_plan *of, uint32_t step, char *text, size_t size)
{
    const struct mqprio_plan *plan = (const struct mqprio_plan *)of;
    if (step == 0 && plan->qdisc)
        snprintf(text, size, "qdisc mqprio %x:, %u classes of the NIC%s%s", QDISC_MAJOR,
                 plan->mqprio.options.num_tc, of->kind[0] ? ", in the place of " : "", of->kind);
    else
        snprintf(text, size, "DCB entries: the priority of each code point");
}

static int mqprio_apply(struct qdisc *qdisc, const char *port, const struct qdisc_plan *of,
                        struct err *err)
{
    const struct mqprio_plan *plan = (const struct mqprio_plan *)of;
    const struct kernel_place place = {.ifindex = raw_port_index(&qdisc->raw, port, err),
                                       .parent = TC_H_ROOT,
                                       .handle = (uint32_t)QDISC_MAJOR << 16};
    if (place.ifindex < 0)
        return place.ifindex;
    if (plan->qdisc && of->root == QDISC_OURS)
        kernel_delete_root(qdisc, place.ifindex);
    int r =
        plan->qdisc ? kernel_put(qdisc, &place, "mqprio", &plan->mqprio, sizeof(plan->mqprio)) : 0;
    if (r < 0)
        return netlink_err(err, r, "having the NIC of %s serve %u classes (mqprio, offloaded)",
                           port, plan->mqprio.options.num_tc);
    return plan->entries ? dcb_write(qdisc->raw.sock, port, &plan->want, &plan->have, err) : 0;
}

/* 1: the port has a qdisc of this driver. */
static int stands(struct qdisc *qdisc, const char *port, struct err *err)
{
    struct raw_list list;
    int r = raw_read(&qdisc->raw, port, &list, err);
    if (r < 0)
        return r;
    const struct raw_qdisc *root = raw_root(&list);
    return root && kernel_is_ours(root) && strcmp(root->kind, "mqprio") == 0;
}

static int mqprio_record(struct qdisc *qdisc, const char *port, char **ret_text, struct err *err)
{
    struct dcb_table have;
    int ours = stands(qdisc, port, err);
    int r = ours < 0 ? ours : dcb_read(qdisc->raw.sock, port, &have, err);
    if (r >= 0 && !ours && memcmp(&have, &nothing, sizeof(nothing)) != 0)
        r = err_set(err, EOPNOTSUPP,
                    "%s has DCB entries for code points already (dcb app show dev %s dscp-prio): "
                    "remove them, or name another queues.driver",
                    port, port);
    return r < 0 ? r : kernel_record(qdisc, port, ret_text, err);
}

static int mqprio_restore(struct qdisc *qdisc, const char *port, const char *text, bool begun,
                          struct err *err)
{
    struct dcb_table have;
    int r = stands(qdisc, port, err);
    if (r > 0)
        r = dcb_read(qdisc->raw.sock, port, &have, err);
    else if (r == 0)
        have = nothing;
    if (r >= 0)
        r = dcb_write(qdisc->raw.sock, port, &nothing, &have, err);
    return r < 0 ? r : kernel_restore(qdisc, port, text, begun, err);
}

static int read_options(struct qdisc *qdisc, const char *port, struct tc_mqprio_qopt *ret_options,
                        int *ret_ifindex, struct err *err)
{
    struct raw_list list;
    int r = raw_read(&qdisc->raw, port, &list, err);
    const struct raw_qdisc *root = r < 0 ? NULL : raw_root(&list);
    *ret_options = (struct tc_mqprio_qopt){0};
    if (root && kernel_is_ours(root) && root->options_bytes >= sizeof(*ret_options))
        memcpy(ret_options, root->options, sizeof(*ret_options));
    *ret_ifindex = list.ifindex;
    return r;
}

static int mqprio_stats(struct qdisc *qdisc, const char *port, struct qdisc_stats *ret_stats,
                        struct err *err)
{
    struct tc_mqprio_qopt options;
    struct qdisc_stats stats = {0};
    struct nl_cache *cache;
    int ifindex, r = read_options(qdisc, port, &options, &ifindex, err);
    if (r < 0)
        return r;
    r = rtnl_class_alloc_cache(qdisc->raw.sock, ifindex, &cache);
    if (r < 0)
        return netlink_err(err, r, "reading the counters of %s", port);
    for (struct nl_object *o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o)) {
        struct rtnl_tc *tc = TC_CAST(o);
        int class = (int)TC_H_MIN(rtnl_tc_get_handle(tc)) - CLASS_MINOR;
        int first =
            class >= 0 && class < options.num_tc ? mqprio_first(&options, (uint32_t) class) : -1;
        if (first >= 0)
            stats.queues[first] =
                (struct qdisc_queue_stats){.there = true,
                                           .bytes = rtnl_tc_get_stat(tc, RTNL_TC_BYTES),
                                           .packets = rtnl_tc_get_stat(tc, RTNL_TC_PACKETS),
                                           .drops = rtnl_tc_get_stat(tc, RTNL_TC_DROPS),
                                           .backlog_packets = rtnl_tc_get_stat(tc, RTNL_TC_QLEN),
                                           .backlog_bytes = rtnl_tc_get_stat(tc, RTNL_TC_BACKLOG)};
    }
    nl_cache_free(cache);
    *ret_stats = stats;
    return 0;
}

const struct qdisc_driver qdisc_mqprio = {
    .name = "mqprio",
    .abilities = {.strict = true, .hardware = true},
    KERNEL_DRIVER,
    .facts = mqprio_facts,
    .record = mqprio_record,
    .plan = mqprio_plan,
    .say = mqprio_say,
    .apply = mqprio_apply,
    .restore = mqprio_restore,
    .stats = mqprio_stats,
};
