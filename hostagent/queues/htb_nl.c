/* The queue driver that brings a port about by HTB, over rtnetlink: what htb.h works out is read from
 * the kernel and written to it, class by class. What stood at the root before is kept as the bytes
 * that the kernel tells of it, and put back by the same bytes. */
#include "hostagent/nl.h"
#include "hostagent/queues/htb.h"
#include "hostagent/queues/qdisc.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/class.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/qdisc/fifo.h>
#include <netlink/route/qdisc/htb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QDISCS_MAX    32  /* looked at on one port */
#define OPTIONS_BYTES 512 /* of a qdisc that we can put back */

struct qdisc {
    struct nl_sock *sock;
};

struct htb_plan {
    struct qdisc_plan plan; /* first: the others know this part */
    struct htb_step steps[HTB_STEPS];
};

/* One qdisc as the kernel tells it. */
struct raw_qdisc {
    uint32_t handle, parent;
    char kind[16];
    uint32_t options_bytes;
    uint8_t options[OPTIONS_BYTES];
    bool too_long;
};

struct raw_list {
    int ifindex;
    uint32_t n;
    bool too_many;
    struct raw_qdisc items[QDISCS_MAX];
};

static int htb_open(struct qdisc **ret_qdisc, struct err *err)
{
    struct qdisc *qdisc = calloc(1, sizeof(*qdisc));
    if (!qdisc)
        return err_sys(err, ENOMEM, "queues");
    int r = netlink_open(&qdisc->sock, err);
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
    nl_socket_free(qdisc->sock);
    free(qdisc);
}

static int port_index(const char *port, struct err *err)
{
    unsigned index = if_nametoindex(port);
    return index ? (int)index
                 : err_set(err, ENODEV, "there is no interface %s in this network namespace", port);
}

static int keep_qdisc(struct nl_msg *msg, void *arg)
{
    struct raw_list *list = arg;
    struct nlmsghdr *header = nlmsg_hdr(msg);
    struct tcmsg *tc = nlmsg_data(header);
    struct nlattr *attrs[TCA_MAX + 1];

    if (header->nlmsg_type != RTM_NEWQDISC || tc->tcm_ifindex != list->ifindex ||
        tc->tcm_parent == TC_H_INGRESS ||
        nlmsg_parse(header, sizeof(*tc), attrs, TCA_MAX, NULL) < 0 || !attrs[TCA_KIND])
        return NL_OK;
    if (list->n == QDISCS_MAX) {
        list->too_many = true;
        return NL_OK;
    }
    struct raw_qdisc *raw = &list->items[list->n++];
    *raw = (struct raw_qdisc){.handle = tc->tcm_handle, .parent = tc->tcm_parent};
    snprintf(raw->kind, sizeof(raw->kind), "%s", nla_get_string(attrs[TCA_KIND]));
    if (attrs[TCA_OPTIONS]) {
        raw->options_bytes = (uint32_t)nla_len(attrs[TCA_OPTIONS]);
        raw->too_long = raw->options_bytes > OPTIONS_BYTES;
        if (!raw->too_long)
            memcpy(raw->options, nla_data(attrs[TCA_OPTIONS]), raw->options_bytes);
    }
    return NL_OK;
}

static int read_qdiscs(struct qdisc *qdisc, const char *port, struct raw_list *list,
                       struct err *err)
{
    int ifindex = port_index(port, err);
    if (ifindex < 0)
        return ifindex;
    *list = (struct raw_list){.ifindex = ifindex};
    struct tcmsg request = {.tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex};
    int r = netlink_dump(qdisc->sock, RTM_GETQDISC, &request, sizeof(request), keep_qdisc, list);
    return r < 0 ? netlink_err(err, r, "reading the queues of %s", port) : 0;
}

static const struct raw_qdisc *find_parent(const struct raw_list *list, uint32_t parent)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i].parent == parent)
            return &list->items[i];
    return NULL;
}

/* The root that somebody put there; NULL where the kernel's default stands (its handle is 0). */
static const struct raw_qdisc *find_root(const struct raw_list *list)
{
    const struct raw_qdisc *root = find_parent(list, TC_H_ROOT);
    return root && root->handle ? root : NULL;
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
    const struct raw_qdisc *leaf = find_parent(list, classid);
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

/* The classes of our HTB, root class first; what is beyond HTB_CLASSES was put there by others. */
static int read_classes(struct qdisc *qdisc, const struct raw_list *list, struct htb_tree *tree,
                        struct err *err)
{
    struct nl_cache *cache;
    int r = rtnl_class_alloc_cache(qdisc->sock, list->ifindex, &cache);
    if (r < 0)
        return netlink_err(err, r, "reading the classes of interface %d", list->ifindex);
    for (struct nl_object *o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o)) {
        struct rtnl_class *class = (struct rtnl_class *)o;
        if (TC_H_MAJ(rtnl_tc_get_handle(TC_CAST(class))) != (uint32_t)HTB_MAJOR << 16 ||
            tree->classes_n == HTB_CLASSES)
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
    int r = read_qdiscs(qdisc, port, &list, err);
    if (r < 0)
        return r;
    const struct raw_qdisc *root = find_root(&list);
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
        r = rtnl_qdisc_add(qdisc->sock, root, NLM_F_CREATE | NLM_F_REPLACE);
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
        r = rtnl_class_add(qdisc->sock, class, NLM_F_CREATE);
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
        r = rtnl_qdisc_add(qdisc->sock, leaf, NLM_F_CREATE | NLM_F_REPLACE);
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
    int r = rtnl_class_delete(qdisc->sock, class);
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
    int ifindex = port_index(port, err);
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

/* Kinds whose options, as the kernel tells them, make the same qdisc again. */
static bool can_put_back(const struct raw_qdisc *raw)
{
    static const char *const kinds[] = {"tbf", "pfifo", "bfifo", "pfifo_head_drop"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i], raw->kind) == 0)
            return !raw->too_long;
    return false;
}

static int write_line(const struct raw_qdisc *raw, char *text, size_t size, size_t *used)
{
    int n =
        snprintf(text + *used, size - *used, "%s %08x %08x ", raw->kind, raw->handle, raw->parent);
    if (n < 0 || *used + (size_t)n + 2 * raw->options_bytes + 2 > size)
        return -E2BIG;
    *used += (size_t)n;
    for (uint32_t i = 0; i < raw->options_bytes; i++)
        *used += (size_t)snprintf(text + *used, size - *used, "%02x", raw->options[i]);
    *used += (size_t)snprintf(text + *used, size - *used, "%s\n", raw->options_bytes ? "" : "-");
    return 0;
}

static int htb_record(struct qdisc *qdisc, const char *port, struct qdisc_record *ret_record,
                      struct err *err)
{
    struct raw_list list;
    int r = read_qdiscs(qdisc, port, &list, err);
    if (r < 0)
        return r;
    struct qdisc_record record = {.text = ""};
    const struct raw_qdisc *root = find_root(&list);
    size_t used = 0;
    for (uint32_t i = 0; root && !is_ours(root) && i < list.n; i++) {
        const struct raw_qdisc *raw = &list.items[i];
        if (!can_put_back(raw) || list.too_many ||
            write_line(raw, record.text, sizeof(record.text), &used) < 0)
            return err_set(
                err, EOPNOTSUPP,
                "the %s on %s could not be put back exactly when we leave (only tbf and fifo "
                "can): remove it, or name another port",
                raw->kind, port);
    }
    *ret_record = record;
    return 0;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_line(const char *line, struct raw_qdisc *ret_raw)
{
    struct raw_qdisc raw = {0};
    int at = 0;
    if (sscanf(line, "%15s %8x %8x %n", raw.kind, &raw.handle, &raw.parent, &at) != 3 || !at)
        return -EINVAL;
    for (line += at; hex_digit(line[0]) >= 0 && hex_digit(line[1]) >= 0; line += 2) {
        if (raw.options_bytes == OPTIONS_BYTES)
            return -EINVAL;
        raw.options[raw.options_bytes++] = (uint8_t)(hex_digit(line[0]) * 16 + hex_digit(line[1]));
    }
    *ret_raw = raw;
    return 0;
}

static int put_raw(struct qdisc *qdisc, int ifindex, const struct raw_qdisc *raw)
{
    struct tcmsg tc = {.tcm_family = AF_UNSPEC,
                       .tcm_ifindex = ifindex,
                       .tcm_handle = raw->handle,
                       .tcm_parent = raw->parent};
    struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE);
    if (!msg)
        return -NLE_NOMEM;
    int r = nlmsg_append(msg, &tc, sizeof(tc), NLMSG_ALIGNTO);
    if (r >= 0)
        r = nla_put_string(msg, TCA_KIND, raw->kind);
    if (r >= 0 && raw->options_bytes)
        r = nla_put(msg, TCA_OPTIONS, (int)raw->options_bytes, raw->options);
    if (r < 0) {
        nlmsg_free(msg);
        return r;
    }
    return nl_send_sync(qdisc->sock, msg);
}

static int delete_root(struct qdisc *qdisc, int ifindex)
{
    struct rtnl_qdisc *root = rtnl_qdisc_alloc();
    if (!root)
        return -NLE_NOMEM;
    rtnl_tc_set_ifindex(TC_CAST(root), ifindex);
    rtnl_tc_set_parent(TC_CAST(root), TC_H_ROOT);
    int r = rtnl_qdisc_delete(qdisc->sock, root);
    rtnl_qdisc_put(root);
    return r;
}

static int put_record(struct qdisc *qdisc, int ifindex, const struct qdisc_record *record)
{
    if (!record->text[0])
        return delete_root(qdisc, ifindex);
    for (const char *line = record->text; *line;) {
        struct raw_qdisc raw;
        int r = read_line(line, &raw);
        r = r < 0 ? -NLE_PARSE_ERR : put_raw(qdisc, ifindex, &raw);
        if (r < 0)
            return r;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return 0;
}

static int htb_restore(struct qdisc *qdisc, const char *port, const struct qdisc_record *record,
                       struct err *err)
{
    struct raw_list list;
    int r = read_qdiscs(qdisc, port, &list, err);
    if (r < 0)
        return r;
    const struct raw_qdisc *root = find_root(&list);
    if (!root || !is_ours(root))
        return 0;
    r = put_record(qdisc, list.ifindex, record);
    return r < 0 ? netlink_err(err, r, "putting back what stood on %s before", port) : 0;
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
    int ifindex = port_index(port, err);
    if (ifindex < 0)
        return ifindex;
    int r = rtnl_class_alloc_cache(qdisc->sock, ifindex, &cache);
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
    return netlink_mtu(qdisc->sock, port, &ret_facts->mtu_bytes, err);
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
    .record = htb_record,
    .plan = htb_plan,
    .apply = htb_apply,
    .restore = htb_restore,
    .stats = htb_stats,
    .class_of = htb_class_of,
};
