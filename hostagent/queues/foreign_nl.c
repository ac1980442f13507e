#include "hostagent/queues/foreign_nl.h"

#include "hostagent/nl.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

#define PRIORITY_LAST 0xffff

struct looking {
    struct foreign *foreign;
    struct err *err;
    int r;
    struct foreign_part
        empty; /* a filter's priority that has told of no filter yet; kind "": none */
};

static int check_empty(struct looking *looking)
{
    if (looking->empty.kind[0])
        looking->r = err_set(looking->err, EOPNOTSUPP,
                             "the %s filter below %x:%x cannot be put back exactly: the kernel "
                             "does not tell what is in it",
                             looking->empty.kind, looking->empty.parent >> 16,
                             looking->empty.parent & 0xffff);
    looking->empty.kind[0] = 0;
    return looking->r;
}

static int keep_part(struct nl_msg *msg, void *arg)
{
    struct looking *looking = arg;
    struct nlmsghdr *header = nlmsg_hdr(msg);
    struct tcmsg *tc = nlmsg_data(header);
    struct nlattr *attrs[TCA_MAX + 1];
    bool filter = header->nlmsg_type == RTM_NEWTFILTER;

    if ((!filter && header->nlmsg_type != RTM_NEWTCLASS) ||
        nlmsg_parse(header, sizeof(*tc), attrs, TCA_MAX, NULL) < 0 || !attrs[TCA_KIND] ||
        looking->r < 0)
        return NL_OK;
    struct foreign_part part = {.what = filter ? FOREIGN_FILTER : FOREIGN_CLASS,
                                .handle = tc->tcm_handle,
                                .parent = tc->tcm_parent,
                                .info = filter ? tc->tcm_info : 0,
                                .chain =
                                    filter && attrs[TCA_CHAIN] ? nla_get_u32(attrs[TCA_CHAIN]) : 0};
    nla_strlcpy(part.kind, attrs[TCA_KIND], sizeof(part.kind));
    if (filter && !attrs[TCA_OPTIONS]) {
        if (check_empty(looking) >= 0)
            looking->empty = part;
        return NL_OK;
    }
    looking->empty.kind[0] = 0;
    if (attrs[TCA_OPTIONS]) {
        part.options = nla_data(attrs[TCA_OPTIONS]);
        part.options_bytes = (uint32_t)nla_len(attrs[TCA_OPTIONS]);
    }
    looking->r = foreign_add(looking->foreign, &part, looking->err);
    return NL_OK;
}

static int look_below(struct nl_sock *sock, int type, int ifindex, uint32_t parent,
                      struct looking *looking)
{
    struct tcmsg request = {.tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex, .tcm_parent = parent};
    int r = netlink_dump(sock, type, &request, sizeof(request), keep_part, looking);
    if (r < 0)
        return netlink_err(looking->err, r, "reading classes and filters");
    return check_empty(looking);
}

static int add_qdisc(struct foreign *foreign, const struct raw_qdisc *raw, struct err *err)
{
    struct foreign_part part = {.what = FOREIGN_QDISC,
                                .handle = raw->handle,
                                .parent = raw->parent,
                                .options_bytes = raw->options_bytes,
                                .options = (uint8_t *)(uintptr_t)raw->options};
    memcpy(part.kind, raw->kind, sizeof(part.kind));
    if (raw->sized)
        return err_set(err, EOPNOTSUPP,
                       "the %s %x: cannot be put back exactly: it has a table of sizes (stab)",
                       raw->kind, raw->handle >> 16);
    return foreign_add(foreign, &part, err);
}

static int look_at_filters(struct nl_sock *sock, int ifindex, struct looking *looking)
{
    uint32_t n = looking->foreign->n;
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < n; i++)
        r = look_below(sock, RTM_GETTFILTER, ifindex, looking->foreign->parts[i].handle, looking);
    return r;
}

int foreign_look(struct nl_sock *sock, const struct raw_list *list, struct foreign *ret_foreign,
                 struct err *err)
{
    struct foreign foreign = {0};
    struct looking looking = {.foreign = &foreign, .err = err};
    bool classes = false;
    int r = 0;
    for (uint32_t i = 0; r >= 0 && raw_root(list) && i < list->n; i++) {
        if (!list->items[i].handle)
            continue; /* made by the one above it */
        classes = classes || foreign_has_classes(list->items[i].kind);
        r = add_qdisc(&foreign, &list->items[i], err);
    }
    if (r >= 0 && classes)
        r = look_below(sock, RTM_GETTCLASS, list->ifindex, 0, &looking);
    if (r >= 0)
        r = look_at_filters(sock, list->ifindex, &looking);
    if (r >= 0)
        r = foreign_order(&foreign, err);
    if (r < 0)
        foreign_done(&foreign);
    else
        *ret_foreign = foreign;
    return r;
}

static int send_part(struct nl_sock *sock, int type, int flags, int ifindex,
                     const struct foreign_part *part)
{
    struct tcmsg tc = {.tcm_family = AF_UNSPEC,
                       .tcm_ifindex = ifindex,
                       .tcm_handle = part->handle,
                       .tcm_parent = part->parent,
                       .tcm_info = part->info};
    struct nl_msg *msg = nlmsg_alloc_size(part->options_bytes + 512);
    if (!msg)
        return -NLE_NOMEM;
    nlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, flags);
    int r = nlmsg_append(msg, &tc, sizeof(tc), NLMSG_ALIGNTO);
    if (r >= 0)
        r = nla_put_string(msg, TCA_KIND, part->kind);
    if (r >= 0 && part->chain)
        r = nla_put_u32(msg, TCA_CHAIN, part->chain);
    if (r >= 0 && (part->options_bytes || part->what != FOREIGN_QDISC))
        r = nla_put(msg, TCA_OPTIONS | (foreign_has_attributes(part) ? NLA_F_NESTED : 0),
                    (int)part->options_bytes, part->options);
    if (r < 0) {
        nlmsg_free(msg);
        return r;
    }
    return nl_send_sync(sock, msg);
}

/* Which table of u32 the kernel makes next below a qdisc. */
struct tables {
    uint32_t qdisc, next;
    bool first; /* the first one is ours: while it exists the kernel continues counting */
};

static bool has_priority(const struct foreign *foreign, uint32_t parent, uint32_t priority)
{
    for (uint32_t i = 0; i < foreign->n; i++)
        if (foreign->parts[i].what == FOREIGN_FILTER && foreign->parts[i].parent == parent &&
            foreign->parts[i].info >> 16 == priority)
            return true;
    return false;
}

/* A u32 filter of ours, the how-manieth from the end of the priorities that are free. */
static struct foreign_part dummy_of(const struct foreign *foreign, uint32_t qdisc, uint32_t which)
{
    uint32_t priority = PRIORITY_LAST;
    while (has_priority(foreign, qdisc, priority) || which--)
        priority--;
    return (struct foreign_part){.what = FOREIGN_FILTER,
                                 .kind = "u32",
                                 .parent = qdisc,
                                 .info = priority << 16 | htons(ETH_P_ALL)};
}

/* It matches nothing, and would do nothing. (A table would stay when its filter goes.) */
static int add_dummy(struct nl_sock *sock, int ifindex, struct foreign_part dummy)
{
    const struct tc_u32_sel sel = {.nkeys = 1};
    const struct tc_u32_key key = {.mask = UINT32_MAX};
    uint8_t options[sizeof(struct nlattr) + sizeof(sel) + sizeof(key)];
    const struct nlattr attr = {sizeof(options), TCA_U32_SEL};
    memcpy(options, &attr, sizeof(attr));
    memcpy(options + sizeof(attr), &sel, sizeof(sel));
    memcpy(options + sizeof(attr) + sizeof(sel), &key, sizeof(key));
    dummy.options = options;
    dummy.options_bytes = sizeof(options);
    return send_part(sock, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, ifindex, &dummy);
}

static int end_tables(struct nl_sock *sock, int ifindex, const struct foreign *foreign,
                      struct tables *tables)
{
    const struct foreign_part dummy = dummy_of(foreign, tables->qdisc, 0);
    int r = tables->first ? send_part(sock, RTM_DELTFILTER, 0, ifindex, &dummy) : 0;
    *tables = (struct tables){0};
    return r;
}

/* Lets the kernel count until its next table has this number. */
static int count_to(struct nl_sock *sock, int ifindex, const struct foreign *foreign,
                    uint32_t number, struct tables *tables)
{
    const struct foreign_part other = dummy_of(foreign, tables->qdisc, 1);
    int r = 0;
    if (!tables->next && number) {
        r = add_dummy(sock, ifindex, dummy_of(foreign, tables->qdisc, 0));
        tables->first = r >= 0;
        tables->next = 1;
    }
    for (; r >= 0 && tables->next < number; tables->next++) {
        r = add_dummy(sock, ifindex, other);
        if (r >= 0)
            r = send_part(sock, RTM_DELTFILTER, 0, ifindex, &other);
    }
    tables->next = number + 1;
    return r;
}

static int put_filter(struct nl_sock *sock, int ifindex, const struct foreign *foreign, uint32_t i,
                      struct tables *tables)
{
    const struct foreign_part *part = &foreign->parts[i];
    uint32_t qdisc = TC_H_MAJ(part->parent);
    int root = foreign_u32_root(foreign, i), r = 0;
    if (tables->qdisc != qdisc)
        r = end_tables(sock, ifindex, foreign, tables);
    tables->qdisc = qdisc;
    if (r < 0 || root < 0)
        return r < 0 ? r
                     : send_part(sock, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, ifindex, part);
    return count_to(sock, ifindex, foreign, (uint32_t)root, tables);
}

static int put_part(struct nl_sock *sock, int ifindex, const struct foreign *foreign, uint32_t i,
                    struct tables *tables)
{
    const struct foreign_part *part = &foreign->parts[i];
    if (part->what == FOREIGN_FILTER)
        return put_filter(sock, ifindex, foreign, i, tables);
    struct foreign_part copy = *part;
    uint8_t options[FOREIGN_OPTIONS];
    memcpy(options, part->options, part->options_bytes);
    copy.options = options;
    foreign_options_to_put(&copy);
    return part->what == FOREIGN_CLASS
               ? send_part(sock, RTM_NEWTCLASS, NLM_F_CREATE | NLM_F_EXCL, ifindex, &copy)
               : send_part(sock, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, ifindex, &copy);
}

static int delete_root(struct nl_sock *sock, int ifindex)
{
    struct tcmsg tc = {.tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex, .tcm_parent = TC_H_ROOT};
    struct nl_msg *msg = nlmsg_alloc_simple(RTM_DELQDISC, 0);
    if (!msg)
        return -NLE_NOMEM;
    int r = nlmsg_append(msg, &tc, sizeof(tc), NLMSG_ALIGNTO);
    if (r < 0) {
        nlmsg_free(msg);
        return r;
    }
    return nl_send_sync(sock, msg);
}

/* One with the handle of the root to be put would be changed instead, and the root not made. */
static bool is_in_the_way(const struct raw_list *list, const struct foreign *foreign)
{
    for (uint32_t i = 0; foreign->n && i < list->n; i++)
        if (list->items[i].handle == foreign->parts[0].handle)
            return true;
    return !foreign->n;
}

int foreign_put(struct nl_sock *sock, const struct raw_list *list, const struct foreign *foreign,
                struct err *err)
{
    struct tables tables = {0};
    int r = raw_root(list) && is_in_the_way(list, foreign) ? delete_root(sock, list->ifindex) : 0;
    for (uint32_t i = 0; r >= 0 && i < foreign->n; i++) {
        const struct foreign_part *part = &foreign->parts[i];
        r = put_part(sock, list->ifindex, foreign, i, &tables);
        if (r < 0)
            return netlink_err(err, r, "the %s %x:%x", part->kind, part->handle >> 16,
                               part->handle & 0xffff);
    }
    if (r >= 0)
        r = end_tables(sock, list->ifindex, foreign, &tables);
    return r < 0 ? netlink_err(err, r, "the root qdisc") : 0;
}
