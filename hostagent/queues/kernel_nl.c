#include "hostagent/queues/kernel_nl.h"

#include "hostagent/nl.h"
#include "hostagent/queues/link_speed.h"
#include "hostagent/queues/scratch_nl.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/cache.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/class.h>
#include <netlink/route/qdisc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RED_HANDLES 0x10 /* a red has another handle than a pfifo in its place */

int kernel_open(struct qdisc **ret_qdisc, struct err *err)
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

void kernel_close(struct qdisc *qdisc)
{
    if (!qdisc)
        return;
    raw_close(&qdisc->raw);
    free(qdisc);
}

void kernel_tell(struct qdisc *qdisc, const struct qdisc_site *site)
{
    qdisc->site = *site;
}

int kernel_can(struct qdisc *qdisc, uint32_t *ret_kinds, struct err *err)
{
    int r = qdisc->tried ? 0 : scratch_try(qdisc, &qdisc->can, err);
    qdisc->tried |= r >= 0;
    *ret_kinds = qdisc->can;
    return r;
}

int kernel_needs(struct qdisc *qdisc, uint32_t kinds, struct err *err)
{
    uint32_t can;
    int r = kernel_can(qdisc, &can, err);
    uint32_t missing = kinds & ~can;
    if (r < 0 || !missing)
        return r;
    const char *name = scratch_kind_name(missing & -missing);
    return err_set(err, EOPNOTSUPP,
                   "this kernel does not take the qdisc %s: load or install its module sch_%s, or "
                   "name another queues.driver",
                   name, name);
}

int kernel_facts(struct qdisc *qdisc, const char *port, struct port_facts *ret_facts,
                 struct err *err)
{
    struct port_facts facts = {.queues_n = PORT_TRAFFIC, .abilities = {.strict = true}};
    int r = link_mtu(nl_socket_get_fd(qdisc->raw.sock), port, &facts.mtu_bytes, err);
    uint32_t can = 0;
    if (r >= 0)
        r = kernel_can(qdisc, &can, err);
    if (r < 0)
        return r;
    snprintf(facts.name, sizeof(facts.name), "%s", port);
    facts.link_bps = link_speed_bps(nl_socket_get_fd(qdisc->raw.sock), port);
    facts.down = !facts.link_bps && !link_is_up(nl_socket_get_fd(qdisc->raw.sock), port);
    facts.abilities.ecn = can & KERNEL_RED;
    *ret_facts = facts;
    return 0;
}

bool kernel_is_ours(const struct raw_qdisc *root)
{
    static const char *const kinds[] = {"htb", "prio", "ets", "mqprio"};
    if (strcmp(root->kind, "tbf") == 0)
        return root->handle == (uint32_t)KERNEL_HOLD << 16;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(root->kind, kinds[i]) == 0)
            return root->handle == (uint32_t)QDISC_MAJOR << 16;
    return false;
}

bool kernel_is_own(const struct qdisc *qdisc, uint32_t port_id)
{
    return nl_socket_get_local_port(qdisc->raw.sock) == port_id;
}

int kernel_look(struct qdisc *qdisc, struct err *err)
{
    (void)err;
    raw_look(&qdisc->raw);
    return 0;
}

void kernel_look_away(struct qdisc *qdisc)
{
    raw_look_away(&qdisc->raw);
}

int kernel_record(struct qdisc *qdisc, const char *port, char **ret_text, struct err *err)
{
    struct raw_list list;
    int r = raw_read(&qdisc->raw, port, &list, err);
    if (r < 0)
        return r;
    const struct raw_qdisc *root = raw_root(&list);
    if (root && kernel_is_ours(root))
        list.n = 0;
    return raw_record(&qdisc->raw, &list, port, ret_text, err);
}

int kernel_restore(struct qdisc *qdisc, const char *port, const char *text, bool begun,
                   struct err *err)
{
    struct raw_list list;
    int r = raw_read(&qdisc->raw, port, &list, err);
    if (r < 0)
        return r;
    const struct raw_qdisc *root = raw_root(&list);
    bool makes_room = begun || (root && kernel_is_ours(root));
    return makes_room ? raw_put_back(&qdisc->raw, &list, port, text, err) : 0;
}

void kernel_clean(struct qdisc *qdisc)
{
    scratch_remove(qdisc->raw.sock);
}

/* The traffic that a class of ours is named after; −1: none. */
static int traffic_of(uint32_t handle)
{
    int traffic = (int)TC_H_MIN(handle) - QDISC_MINOR(0);
    bool ours = TC_H_MAJ(handle) == (uint32_t)QDISC_MAJOR << 16;
    return ours && traffic >= 0 && traffic < PORT_TRAFFIC ? traffic : -1;
}

int kernel_stats(struct qdisc *qdisc, const char *port, struct qdisc_stats *ret_stats,
                 struct err *err)
{
    struct nl_cache *cache;
    struct qdisc_stats stats = {0};
    int ifindex = raw_port_index(&qdisc->raw, port, err);
    if (ifindex < 0)
        return ifindex;
    int r = rtnl_class_alloc_cache(qdisc->raw.sock, ifindex, &cache);
    if (r < 0)
        return netlink_err(err, r, "reading the counters of %s", port);
    for (struct nl_object *o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o)) {
        struct rtnl_tc *tc = TC_CAST(o);
        int traffic = traffic_of(rtnl_tc_get_handle(tc));
        if (traffic < 0)
            continue;
        stats.queues[traffic] = (struct qdisc_queue_stats){
            .there = true,
            .bytes = rtnl_tc_get_stat(tc, RTNL_TC_BYTES),
            .packets = rtnl_tc_get_stat(tc, RTNL_TC_PACKETS),
            .drops = rtnl_tc_get_stat(tc, RTNL_TC_DROPS),
            .backlog_packets = rtnl_tc_get_stat(tc, RTNL_TC_QLEN),
            .backlog_bytes = rtnl_tc_get_stat(tc, RTNL_TC_BACKLOG),
        };
    }
    nl_cache_free(cache);
    *ret_stats = stats;
    return 0;
}

int kernel_marks(struct qdisc *qdisc, const char *port, struct qdisc_stats *stats, struct err *err)
{
    struct raw_list list;
    int r = raw_read(&qdisc->raw, port, &list, err);
    for (int traffic = 0; r >= 0 && traffic < PORT_TRAFFIC; traffic++) {
        const uint32_t class = (uint32_t)QDISC_MAJOR << 16 | QDISC_MINOR(traffic);
        const struct raw_qdisc *leaf = raw_below(&list, class);
        stats->queues[traffic].marked = leaf ? leaf->marked : -1;
    }
    return r;
}

static int put(struct qdisc *qdisc, const struct kernel_place *place, const char *kind, int type,
               const void *options, int bytes)
{
    struct tcmsg tc = {.tcm_family = AF_UNSPEC,
                       .tcm_ifindex = place->ifindex,
                       .tcm_handle = place->handle,
                       .tcm_parent = place->parent};
    struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE);
    if (!msg)
        return -NLE_NOMEM;
    int r = nlmsg_append(msg, &tc, sizeof(tc), NLMSG_ALIGNTO);
    if (r >= 0)
        r = nla_put_string(msg, TCA_KIND, kind);
    if (r >= 0)
        r = nla_put(msg, type, bytes, options);
    if (r < 0) {
        nlmsg_free(msg);
        return r;
    }
    return nl_send_sync(qdisc->raw.sock, msg);
}

int kernel_put(struct qdisc *qdisc, const struct kernel_place *place, const char *kind,
               const void *options, size_t bytes)
{
    return put(qdisc, place, kind, TCA_OPTIONS, options, (int)bytes);
}

int kernel_put_attrs(struct qdisc *qdisc, const struct kernel_place *place, const char *kind,
                     struct nl_msg *attrs)
{
    struct nlmsghdr *header = nlmsg_hdr(attrs);
    return put(qdisc, place, kind, TCA_OPTIONS | NLA_F_NESTED, nlmsg_data(header),
               nlmsg_datalen(header));
}

int kernel_delete_root(struct qdisc *qdisc, int ifindex)
{
    struct rtnl_qdisc *root = rtnl_qdisc_alloc();
    if (!root)
        return -NLE_NOMEM;
    rtnl_tc_set_ifindex(TC_CAST(root), ifindex);
    rtnl_tc_set_parent(TC_CAST(root), TC_H_ROOT);
    int r = rtnl_qdisc_delete(qdisc->raw.sock, root);
    rtnl_qdisc_put(root);
    return r;
}

static int put_red(struct qdisc *qdisc, const struct kernel_place *place, const struct leaf *leaf)
{
    struct tc_red_qopt options;
    uint8_t stab[LEAF_STAB];
    leaf_red_options(leaf, &options, stab);
    /* The kernel refuses flags in two places, and NODROP has no room in the options. */
    const struct nla_bitfield32 flags = {options.flags | TC_RED_NODROP,
                                         options.flags | TC_RED_NODROP};
    options.flags = 0;
    struct nl_msg *attrs = nlmsg_alloc();
    if (!attrs)
        return -NLE_NOMEM;
    int r = nla_put(attrs, TCA_RED_PARMS, sizeof(options), &options);
    if (r >= 0)
        r = nla_put(attrs, TCA_RED_STAB, sizeof(stab), stab);
    if (r >= 0)
        r = nla_put(attrs, TCA_RED_FLAGS, sizeof(flags), &flags);
    if (r >= 0)
        r = kernel_put_attrs(qdisc, place, "red", attrs);
    nlmsg_free(attrs);
    return r;
}

int kernel_put_leaf(struct qdisc *qdisc, int ifindex, uint32_t class, const struct leaf *leaf)
{
    const struct tc_fifo_qopt fifo = {.limit = leaf->limit};
    uint32_t major = QDISC_MAJOR + TC_H_MIN(class) + (leaf->mark_bytes ? RED_HANDLES : 0);
    const struct kernel_place place = {ifindex, class, major << 16};
    return leaf->mark_bytes ? put_red(qdisc, &place, leaf)
                            : kernel_put(qdisc, &place, "pfifo", &fifo, sizeof(fifo));
}

static struct leaf read_red(const struct raw_qdisc *raw)
{
    struct nlattr *attrs[TCA_RED_MAX + 1], *head = (struct nlattr *)(uintptr_t)raw->options;
    struct nla_bitfield32 flags = {0};
    struct tc_red_qopt options;
    if (nla_parse(attrs, TCA_RED_MAX, head, (int)raw->options_bytes, NULL) < 0 ||
        !attrs[TCA_RED_PARMS] || !attrs[TCA_RED_FLAGS])
        return (struct leaf){0};
    nla_memcpy(&flags, attrs[TCA_RED_FLAGS], sizeof(flags));
    if (nla_memcpy(&options, attrs[TCA_RED_PARMS], sizeof(options)) < (int)sizeof(options) ||
        !(flags.value & TC_RED_NODROP))
        return (struct leaf){0};
    return leaf_of_red(&options);
}

struct leaf kernel_leaf_below(const struct raw_list *list, uint32_t class)
{
    const struct raw_qdisc *raw = raw_below(list, class);
    struct tc_fifo_qopt fifo;
    if (raw && strcmp(raw->kind, "red") == 0)
        return read_red(raw);
    if (!raw || strcmp(raw->kind, "pfifo") != 0 || raw->options_bytes < sizeof(fifo))
        return (struct leaf){0};
    memcpy(&fifo, raw->options, sizeof(fifo));
    return (struct leaf){.limit = fifo.limit};
}
