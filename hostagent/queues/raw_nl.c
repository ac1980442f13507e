#include "hostagent/queues/raw_nl.h"

#include "hostagent/nl.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/route/qdisc.h>
#include <stdio.h>
#include <string.h>

int raw_port_index(const char *port, struct err *err)
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

    if (header->nlmsg_type != RTM_NEWQDISC ||
        nlmsg_parse(header, sizeof(*tc), attrs, TCA_MAX, NULL) < 0 ||
        tc->tcm_ifindex != list->ifindex || tc->tcm_parent == TC_H_INGRESS || !attrs[TCA_KIND])
        return NL_OK;
    if (list->n == RAW_QDISCS) {
        list->too_many = true;
        return NL_OK;
    }
    struct raw_qdisc *raw = &list->items[list->n++];
    *raw = (struct raw_qdisc){.handle = tc->tcm_handle, .parent = tc->tcm_parent};
    nla_strlcpy(raw->kind, attrs[TCA_KIND], sizeof(raw->kind));
    if (attrs[TCA_OPTIONS]) {
        raw->options_bytes = (uint32_t)nla_len(attrs[TCA_OPTIONS]);
        raw->too_long = raw->options_bytes > RAW_OPTIONS;
        if (!raw->too_long)
            memcpy(raw->options, nla_data(attrs[TCA_OPTIONS]), raw->options_bytes);
    }
    return NL_OK;
}

int raw_read(struct nl_sock *sock, const char *port, struct raw_list *ret_list, struct err *err)
{
    int ifindex = raw_port_index(port, err);
    if (ifindex < 0)
        return ifindex;
    *ret_list = (struct raw_list){.ifindex = ifindex};
    struct tcmsg request = {.tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex};
    int r = netlink_dump(sock, RTM_GETQDISC, &request, sizeof(request), keep_qdisc, ret_list);
    return r < 0 ? netlink_err(err, r, "reading the queues of %s", port) : 0;
}

const struct raw_qdisc *raw_below(const struct raw_list *list, uint32_t parent)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i].parent == parent)
            return &list->items[i];
    return NULL;
}

const struct raw_qdisc *raw_root(const struct raw_list *list)
{
    const struct raw_qdisc *root = raw_below(list, TC_H_ROOT);
    return root && root->handle ? root : NULL; /* the default's handle is 0 */
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

int raw_record(const struct raw_list *list, const char *port, struct qdisc_record *ret_record,
               struct err *err)
{
    struct qdisc_record record = {.text = ""};
    size_t used = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct raw_qdisc *raw = &list->items[i];
        if (!can_put_back(raw) || list->too_many ||
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
        if (raw.options_bytes == RAW_OPTIONS)
            return -EINVAL;
        raw.options[raw.options_bytes++] = (uint8_t)(hex_digit(line[0]) * 16 + hex_digit(line[1]));
    }
    *ret_raw = raw;
    return 0;
}

static int put_raw(struct nl_sock *sock, int ifindex, const struct raw_qdisc *raw)
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
    return nl_send_sync(sock, msg);
}

static int delete_root(struct nl_sock *sock, int ifindex)
{
    struct rtnl_qdisc *root = rtnl_qdisc_alloc();
    if (!root)
        return -NLE_NOMEM;
    rtnl_tc_set_ifindex(TC_CAST(root), ifindex);
    rtnl_tc_set_parent(TC_CAST(root), TC_H_ROOT);
    int r = rtnl_qdisc_delete(sock, root);
    rtnl_qdisc_put(root);
    return r;
}

int raw_put_back(struct nl_sock *sock, int ifindex, const struct qdisc_record *record)
{
    if (!record->text[0])
        return delete_root(sock, ifindex);
    for (const char *line = record->text; *line;) {
        struct raw_qdisc raw;
        int r = read_line(line, &raw);
        r = r < 0 ? -NLE_PARSE_ERR : put_raw(sock, ifindex, &raw);
        if (r < 0)
            return r;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return 0;
}
