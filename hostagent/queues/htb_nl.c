/* The queue driver that brings a port about by HTB, over rtnetlink: what htb.h works out is read from
 * the kernel and written to it, class by class. raw_nl.h keeps what stood there before. */
#include "hostagent/nl.h"
#include "hostagent/queues/htb.h"
#include "hostagent/queues/link_speed.h"
#include "hostagent/queues/qdisc.h"
#include "hostagent/queues/raw_nl.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/class.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/qdisc/fifo.h>
#include <netlink/route/qdisc/htb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qdisc {
    struct raw raw;
};

struct htb_plan {
    struct qdisc_plan plan; /* first: the others know this part */
    struct htb_step steps[HTB_STEPS];
};

static int htb_open(struct qdisc **ret_qdisc, struct err *err)
{
    struct qdisc *qdisc = calloc(1, sizeof(*qdisc));
    if (!qdisc)
        return err_sys(err, ENOMEM, "queues");
    int r = raw_open(&qdisc->raw, err);
    if (r < 0) {
        free(qdisc);
        return r;
    }
    *ret_qdisc = qdisc;
    return 0;
}

static void htb_close(struct qdisc *qdisc)
{
    if (!qdisc)
        return;
    raw_close(&qdisc->raw);
    free(qdisc);
}

static bool is_ours(const struct raw_qdisc *root)
{
    return strcmp(root->kind, "htb") == 0 && root->handle == (uint32_t)HTB_MAJOR << 16;
}

static uint32_t default_minor(const struct raw_qdisc *root)
{
    struct nlattr *attrs[TCA_HTB_MAX + 1];
    struct nlattr *head = (struct nlattr *)(uintptr_t)root->options;
    if (nla_parse(attrs, TCA_HTB_MAX, head, (int)root->options_bytes, NULL) < 0 ||
        !attrs[TCA_HTB_INIT])
        return 0;
    struct tc_htb_glob glob;
    nla_memcpy(&glob, attrs[TCA_HTB_INIT], sizeof(glob));
    return glob.defcls;
}

static uint32_t leaf_limit(const struct raw_list *list, uint32_t classid)
{
    const struct raw_qdisc *leaf = raw_below(list, classid);
    struct tc_fifo_qopt opt;
    if (!leaf || strcmp(leaf->kind, "pfifo") != 0 || leaf->options_bytes < sizeof(opt))
        return 0;
    memcpy(&opt, leaf->options, sizeof(opt));
    return opt.limit;
}

static struct htb_class read_class(struct rtnl_class *class, const struct raw_list *list)
{
    uint32_t handle = rtnl_tc_get_handle(TC_CAST(class));
    struct htb_class found = {.minor = (uint16_t)TC_H_MIN(handle),
                              .prio = (uint8_t)rtnl_htb_get_prio(class),
                              .burst_bytes = rtnl_htb_get_rbuffer(class),
                              .cburst_bytes = rtnl_htb_get_cbuffer(class),
                              .quantum_bytes = rtnl_htb_get_quantum(class),
                              .limit_packets = leaf_limit(list, handle)};
    rtnl_htb_get_rate64(class, &found.rate_bytes_s);
    rtnl_htb_get_ceil64(class, &found.ceil_bytes_s);
    return found;
}

/* Others may have classes with a handle like ours. */
static bool is_class_of_ours(struct rtnl_class *class)
{
    const char *kind = rtnl_tc_get_kind(TC_CAST(class));
    return kind && strcmp(kind, "htb") == 0 &&
           TC_H_MAJ(rtnl_tc_get_handle(TC_CAST(class))) == (uint32_t)HTB_MAJOR << 16;
}

/* The classes of our HTB, root class first; what is beyond HTB_CLASSES was put there by others. */
static int read_classes(struct qdisc *qdisc, const struct raw_list *list, struct htb_tree *tree,
                        struct err *err)
{
    struct nl_cache *cache;
    int r = rtnl_class_alloc_cache(qdisc->raw.sock, list->ifindex, &cache);
    if (r < 0)
        return netlink_err(err, r, "reading the classes of interface %d", list->ifindex);
    for (struct nl_object *o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o)) {
        struct rtnl_class *class = (struct rtnl_class *)o;
        if (!is_class_of_ours(class) || tree->classes_n == HTB_CLASSES)
            continue;
        tree->classes[tree->classes_n++] = read_class(class, list);
    }
    nl_cache_free(cache);
    return 0;
}

/* What stands on the port; `tree` is filled when it is ours. */
static int look(struct qdisc *qdisc, const char *port, struct qdisc_plan *ret_plan,
                struct htb_tree *tree, struct err *err)
{
    struct raw_list list;
    int r = raw_read(&qdisc->raw, port, &list, err);
    if (r < 0)
        return r;
    const struct raw_qdisc *root = raw_root(&list);
    if (!root)
        return 0;
    snprintf(ret_plan->kind, sizeof(ret_plan->kind), "%s", root->kind);
    ret_plan->root = is_ours(root) ? QDISC_OURS : QDISC_FOREIGN;
    if (ret_plan->root != QDISC_OURS)
        return 0;
    tree->default_minor = default_minor(root);
    return read_classes(qdisc, &list, tree, err);
}

static int htb_plan(struct qdisc *qdisc, const char *port, const struct port *want,
                    struct qdisc_plan **ret_plan, struct err *err)
{
    struct htb_tree have = {0}, tree;
    struct htb_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return err_sys(err, ENOMEM, "queues");
    int r = look(qdisc, port, &plan->plan, &have, err);
    if (r < 0) {
        free(plan);
        return r;
    }
    htb_tree_of(want, &tree);
    plan->plan.steps = htb_steps(&tree, plan->plan.root == QDISC_OURS ? &have : NULL, plan->steps);
    *ret_plan = &plan->plan;
    return 0;
}

static uint32_t classid(uint16_t minor)
{
    return (uint32_t)HTB_MAJOR << 16 | minor;
}

static int put_root(struct qdisc *qdisc, int ifindex, uint32_t minor)
{
    struct rtnl_qdisc *root = rtnl_qdisc_alloc();
    if (!root)
        return -NLE_NOMEM;
    rtnl_tc_set_ifindex(TC_CAST(root), ifindex);
    rtnl_tc_set_parent(TC_CAST(root), TC_H_ROOT);
    rtnl_tc_set_handle(TC_CAST(root), classid(0));
    int r = rtnl_tc_set_kind(TC_CAST(root), "htb");
    if (r >= 0)
        r = rtnl_htb_set_defcls(root, minor);
    if (r >= 0)
        r = rtnl_qdisc_add(qdisc->raw.sock, root, NLM_F_CREATE | NLM_F_REPLACE);
    rtnl_qdisc_put(root);
    return r;
}

static void fill_class(struct rtnl_class *class, const struct htb_class *want)
{
    rtnl_htb_set_rate64(class, want->rate_bytes_s);
    rtnl_htb_set_ceil64(class, want->ceil_bytes_s);
    rtnl_htb_set_rbuffer(class, want->burst_bytes);
    rtnl_htb_set_cbuffer(class, want->cburst_bytes);
    rtnl_htb_set_quantum(class, want->quantum_bytes);
    if (want->minor != HTB_ROOT)
        rtnl_htb_set_prio(class, want->prio);
}

static int put_class(struct qdisc *qdisc, int ifindex, const struct htb_class *want)
{
    struct rtnl_class *class = rtnl_class_alloc();
    if (!class)
        return -NLE_NOMEM;
    rtnl_tc_set_ifindex(TC_CAST(class), ifindex);
    rtnl_tc_set_parent(TC_CAST(class), classid(want->minor == HTB_ROOT ? 0 : HTB_ROOT));
    rtnl_tc_set_handle(TC_CAST(class), classid(want->minor));
    int r = rtnl_tc_set_kind(TC_CAST(class), "htb");
    if (r >= 0) {
        fill_class(class, want);
        r = rtnl_class_add(qdisc->raw.sock, class, NLM_F_CREATE);
    }
    rtnl_class_put(class);
    return r;
}

static int put_leaf(struct qdisc *qdisc, int ifindex, const struct htb_class *want)
{
    struct rtnl_qdisc *leaf = rtnl_qdisc_alloc();
    if (!leaf)
        return -NLE_NOMEM;
    rtnl_tc_set_ifindex(TC_CAST(leaf), ifindex);
    rtnl_tc_set_parent(TC_CAST(leaf), classid(want->minor));
    rtnl_tc_set_handle(TC_CAST(leaf), (uint32_t)(HTB_MAJOR + want->minor) << 16);
    int r = rtnl_tc_set_kind(TC_CAST(leaf), "pfifo");
    if (r >= 0) {
        rtnl_qdisc_fifo_set_limit(leaf, (int)want->limit_packets);
        r = rtnl_qdisc_add(qdisc->raw.sock, leaf, NLM_F_CREATE | NLM_F_REPLACE);
    }
    rtnl_qdisc_put(leaf);
    return r;
}

static int delete_class(struct qdisc *qdisc, int ifindex, uint16_t minor)
{
    struct rtnl_class *class = rtnl_class_alloc();
    if (!class)
        return -NLE_NOMEM;
    rtnl_tc_set_ifindex(TC_CAST(class), ifindex);
    rtnl_tc_set_handle(TC_CAST(class), classid(minor));
    int r = rtnl_class_delete(qdisc->raw.sock, class);
    rtnl_class_put(class);
    return r;
}

static int apply_step(struct qdisc *qdisc, int ifindex, const struct htb_step *step)
{
    switch (step->kind) {
    case HTB_STEP_ROOT:
        return put_root(qdisc, ifindex, step->default_minor);
    case HTB_STEP_CLASS:
        return put_class(qdisc, ifindex, &step->class);
    case HTB_STEP_LEAF:
        return put_leaf(qdisc, ifindex, &step->class);
    case HTB_STEP_CLASS_DELETE:
        return delete_class(qdisc, ifindex, step->class.minor);
    }
    return -NLE_INVAL;
}

static int htb_apply(struct qdisc *qdisc, const char *port, const struct qdisc_plan *plan,
                     struct err *err)
{
    const struct htb_step *steps = ((const struct htb_plan *)plan)->steps;
    static const char *const words[] = {"the root qdisc", "class", "the queue of class",
                                        "the end of class"};
    int ifindex = raw_port_index(port, err);
    if (ifindex < 0)
        return ifindex;
    for (uint32_t i = 0; i < plan->steps; i++) {
        int r = apply_step(qdisc, ifindex, &steps[i]);
        if (r < 0)
            return netlink_err(err, r, "setting %s %x:%x on %s", words[steps[i].kind], HTB_MAJOR,
                               steps[i].class.minor, port);
    }
    return 0;
}

static int htb_look(struct qdisc *qdisc, struct err *err)
{
    return raw_look(&qdisc->raw, err);
}

static void htb_look_away(struct qdisc *qdisc)
{
    raw_look_away(&qdisc->raw);
}

static int htb_record(struct qdisc *qdisc, const char *port, char **ret_text, struct err *err)
{
    struct raw_list list;
    int r = raw_read(&qdisc->raw, port, &list, err);
    if (r < 0)
        return r;
    const struct raw_qdisc *root = raw_root(&list);
    if (root && is_ours(root))
        list.n = 0;
    return raw_record(&qdisc->raw, &list, port, ret_text, err);
}

static int htb_restore(struct qdisc *qdisc, const char *port, const char *text, bool begun,
                       struct err *err)
{
    struct raw_list list;
    int r = raw_read(&qdisc->raw, port, &list, err);
    if (r < 0)
        return r;
    const struct raw_qdisc *root = raw_root(&list);
    return begun || (root && is_ours(root)) ? raw_put_back(&qdisc->raw, &list, port, text, err) : 0;
}

/* The traffic that a class of ours is named after; −1: none. */
static int traffic_of(uint16_t minor)
{
    if (minor == HTB_CONTROL)
        return TRAFFIC_CONTROL;
    if (minor == HTB_UNMANAGED)
        return TRAFFIC_UNMANAGED;
    int level = minor - (int)HTB_LEVEL(0);
    return level >= 0 && level < PORT_LEVELS ? TRAFFIC_LEVEL0 + level : -1;
}

static int htb_stats(struct qdisc *qdisc, const char *port, struct qdisc_stats *ret_stats,
                     struct err *err)
{
    struct nl_cache *cache;
    struct qdisc_stats stats = {0};
    int ifindex = raw_port_index(port, err);
    if (ifindex < 0)
        return ifindex;
    int r = rtnl_class_alloc_cache(qdisc->raw.sock, ifindex, &cache);
    if (r < 0)
        return netlink_err(err, r, "reading the counters of %s", port);
    for (struct nl_object *o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o)) {
        struct rtnl_tc *tc = TC_CAST(o);
        uint32_t handle = rtnl_tc_get_handle(tc);
        int traffic = traffic_of((uint16_t)TC_H_MIN(handle));
        if (TC_H_MAJ(handle) != (uint32_t)HTB_MAJOR << 16 || traffic < 0)
            continue;
        stats.queues[traffic] = (struct qdisc_queue_stats){
            .bytes = rtnl_tc_get_stat(tc, RTNL_TC_BYTES),
            .packets = rtnl_tc_get_stat(tc, RTNL_TC_PACKETS),
            .drops = rtnl_tc_get_stat(tc, RTNL_TC_DROPS),
            .backlog_packets = rtnl_tc_get_stat(tc, RTNL_TC_QLEN),
        };
    }
    nl_cache_free(cache);
    *ret_stats = stats;
    return 0;
}

static int htb_facts(struct qdisc *qdisc, const char *port, struct port_facts *ret_facts,
                     struct err *err)
{
    *ret_facts = (struct port_facts){.link_bps = link_speed_bps(port),
                                     .queues_n = PORT_TRAFFIC,
                                     .abilities = qdisc_htb.abilities};
    return netlink_mtu(qdisc->raw.sock, port, &ret_facts->mtu_bytes, err);
}

static uint32_t htb_class_of(const struct port *want, enum port_traffic traffic)
{
    return classid(htb_minor(want, traffic));
}

const struct qdisc_driver qdisc_htb = {
    .name = "htb",
    .abilities = {.strict = true, .floors = true},
    .open = htb_open,
    .close = htb_close,
    .facts = htb_facts,
    .look = htb_look,
    .look_away = htb_look_away,
    .record = htb_record,
    .plan = htb_plan,
    .apply = htb_apply,
    .restore = htb_restore,
    .stats = htb_stats,
    .class_of = htb_class_of,
};
