#include "hostagent/queues/dcb_nl.h"

#include "hostagent/nl.h"

#include <errno.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>
#include <sys/socket.h>

static struct nl_msg *begin(const char *port, int type, uint8_t command)
{
    const struct dcbmsg head = {.dcb_family = AF_UNSPEC, .cmd = command};
    struct nl_msg *msg = nlmsg_alloc_simple(type, NLM_F_REQUEST);
    if (msg && (nlmsg_append(msg, (void *)(uintptr_t)&head, sizeof(head), NLMSG_ALIGNTO) < 0 ||
                nla_put_string(msg, DCB_ATTR_IFNAME, port) < 0)) {
        nlmsg_free(msg);
        return NULL;
    }
    return msg;
}

static int put_entries(struct nl_msg *msg, const struct dcb_table *table)
{
    struct nlattr *ieee = nla_nest_start(msg, DCB_ATTR_IEEE | NLA_F_NESTED);
    struct nlattr *app = ieee ? nla_nest_start(msg, DCB_ATTR_IEEE_APP_TABLE | NLA_F_NESTED) : NULL;
    int r = app ? 0 : -NLE_NOMEM;
    for (int dscp = 0; r >= 0 && dscp < DCB_CODE_POINTS; dscp++) {
        const struct dcb_app entry = {.selector = IEEE_8021QAZ_APP_SEL_DSCP,
                                      .priority = table->priority_of[dscp],
                                      .protocol = (uint16_t)dscp};
        if (entry.priority < DCB_PRIORITIES)
            r = nla_put(msg, DCB_ATTR_IEEE_APP, sizeof(entry), &entry);
    }
    if (r >= 0) {
        nla_nest_end(msg, app);
        nla_nest_end(msg, ieee);
    }
    return r;
}

struct nl_msg *dcb_message(const char *port, bool remove, const struct dcb_table *table)
{
    struct nl_msg *msg = begin(port, RTM_SETDCB, remove ? DCB_CMD_IEEE_DEL : DCB_CMD_IEEE_SET);
    if (msg && put_entries(msg, table) < 0) {
        nlmsg_free(msg);
        return NULL;
    }
    return msg;
}

void dcb_take(struct nl_msg *answer, struct dcb_table *table)
{
    struct nlattr *attrs[DCB_ATTR_MAX + 1], *ieee[DCB_ATTR_IEEE_MAX + 1], *item;
    int left;
    if (nlmsg_parse(nlmsg_hdr(answer), sizeof(struct dcbmsg), attrs, DCB_ATTR_MAX, NULL) < 0 ||
        !attrs[DCB_ATTR_IEEE] ||
        nla_parse_nested(ieee, DCB_ATTR_IEEE_MAX, attrs[DCB_ATTR_IEEE], NULL) < 0 ||
        !ieee[DCB_ATTR_IEEE_APP_TABLE])
        return;
    nla_for_each_nested(item, ieee[DCB_ATTR_IEEE_APP_TABLE], left)
    {
        struct dcb_app entry;
        if (nla_type(item) != DCB_ATTR_IEEE_APP || nla_len(item) < (int)sizeof(entry))
            continue;
        memcpy(&entry, nla_data(item), sizeof(entry));
        if (entry.selector == IEEE_8021QAZ_APP_SEL_DSCP && entry.protocol < DCB_CODE_POINTS &&
            entry.priority < DCB_PRIORITIES)
            table->priority_of[entry.protocol] = entry.priority;
    }
}

static int on_table(struct nl_msg *msg, void *arg)
{
    dcb_take(msg, arg);
    return NL_OK;
}

/* A change is answered by a byte: the low one of −errno. */
static int on_status(struct nl_msg *msg, void *arg)
{
    struct nlattr *attrs[DCB_ATTR_MAX + 1];
    if (nlmsg_parse(nlmsg_hdr(msg), sizeof(struct dcbmsg), attrs, DCB_ATTR_MAX, NULL) >= 0 &&
        attrs[DCB_ATTR_IEEE] && nla_len(attrs[DCB_ATTR_IEEE]) >= 1)
        *(uint8_t *)arg = nla_get_u8(attrs[DCB_ATTR_IEEE]);
    return NL_OK;
}

/* Takes the message. */
static int exchange(struct nl_sock *sock, struct nl_msg *msg,
                    int (*each)(struct nl_msg *msg, void *arg), void *arg)
{
    if (!msg)
        return -NLE_NOMEM;
    int r = nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, each, arg);
    if (r >= 0)
        r = nl_send_sync(sock, msg);
    else
        nlmsg_free(msg);
    nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_DEFAULT, NULL, NULL);
    return r;
}

int dcb_read(struct nl_sock *sock, const char *port, struct dcb_table *ret_table, struct err *err)
{
    struct dcb_table table;
    memset(&table, DCB_NONE, sizeof(table));
    int r = exchange(sock, begin(port, RTM_GETDCB, DCB_CMD_IEEE_GET), on_table, &table);
    if (r == -NLE_OPNOTSUPP)
        return err_set(err, EOPNOTSUPP,
                       "the NIC of %s takes no DCB entries, by which it would tell code points "
                       "apart: name another queues.driver than mqprio (module sch_mqprio)",
                       port);
    if (r < 0)
        return netlink_err(err, r, "reading the DCB entries of %s", port);
    *ret_table = table;
    return 0;
}

static int change(struct nl_sock *sock, const char *port, bool remove,
                  const struct dcb_table *table, struct err *err)
{
    static const struct dcb_table nothing = {{[0 ... DCB_CODE_POINTS - 1] = DCB_NONE}};
    uint8_t status = 0;
    if (memcmp(table, &nothing, sizeof(nothing)) == 0)
        return 0;
    int r = exchange(sock, dcb_message(port, remove, table), on_status, &status);
    if (r < 0)
        return netlink_err(err, r, "changing the DCB entries of %s", port);
    return status ? err_sys(err, 256 - status, "changing the DCB entries of %s", port) : 0;
}

int dcb_write(struct nl_sock *sock, const char *port, const struct dcb_table *want,
              const struct dcb_table *have, struct err *err)
{
    struct dcb_table less, more;
    for (int dscp = 0; dscp < DCB_CODE_POINTS; dscp++) {
        uint8_t wanted = want->priority_of[dscp], found = have->priority_of[dscp];
        less.priority_of[dscp] = wanted == found ? DCB_NONE : found;
        more.priority_of[dscp] = wanted == found ? DCB_NONE : wanted;
    }
    int r = change(sock, port, true, &less, err);
    return r < 0 ? r : change(sock, port, false, &more, err);
}
