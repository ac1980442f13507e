#include "hostagent/queues/raw_nl.h"

#include "hostagent/nl.h"
#include "hostagent/queues/foreign_nl.h"
#include "hostagent/queues/link_speed.h"
#include "lib/grow.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdlib.h>
#include <string.h>

/* Of all interfaces, in order of their numbers. Options follow each other. */
struct raw_table {
    struct raw_qdisc *items;
    uint8_t *options;
    size_t n, allocated, bytes, bytes_allocated;
    int error; /* −errno */
};

int raw_open(struct raw *raw, struct err *err)
{
    *raw = (struct raw){.table = calloc(1, sizeof(*raw->table))};
    int r = raw->table ? netlink_open(&raw->sock, err) : err_sys(err, ENOMEM, "queues");
    if (r < 0)
        raw_close(raw);
    return r;
}

void raw_close(struct raw *raw)
{
    if (raw->table) {
        free(raw->table->items);
        free(raw->table->options);
    }
    free(raw->table);
    nl_socket_free(raw->sock);
    *raw = (struct raw){0};
}

int raw_port_index(const struct raw *raw, const char *port, struct err *err)
{
    return link_index(nl_socket_get_fd(raw->sock), port, err);
}

/* Room for one more, with this many bytes of options. */
static int make_room(struct raw_table *table, size_t bytes)
{
    if (table->n == RAW_QDISCS)
        return -E2BIG;
    if (!array_grow(table->items, table->n, table->allocated, 64))
        return -ENOMEM;
    if (table->bytes + bytes > table->bytes_allocated) {
        size_t allocated = 2 * (table->bytes_allocated + bytes) + 4096;
        void *options = realloc(table->options, allocated);
        if (!options)
            return -ENOMEM;
        table->options = options;
        table->bytes_allocated = allocated;
    }
    return 0;
}

static int64_t marked_by(const char *kind, const struct nlattr *counters)
{
    struct tc_red_xstats red;
    if (!counters || strcmp(kind, "red") != 0 || (size_t)nla_len(counters) < sizeof(red))
        return -1;
    memcpy(&red, nla_data(counters), sizeof(red));
    return red.marked;
}

static int keep_qdisc(struct nl_msg *msg, void *arg)
{
    struct raw_table *table = arg;
    struct nlmsghdr *header = nlmsg_hdr(msg);
    struct tcmsg *tc = nlmsg_data(header);
    struct nlattr *attrs[TCA_MAX + 1];

    if (header->nlmsg_type != RTM_NEWQDISC ||
        nlmsg_parse(header, sizeof(*tc), attrs, TCA_MAX, NULL) < 0 ||
        tc->tcm_parent == TC_H_INGRESS || !attrs[TCA_KIND])
        return NL_OK;
    size_t bytes = attrs[TCA_OPTIONS] ? (size_t)nla_len(attrs[TCA_OPTIONS]) : 0;
    size_t aligned = (bytes + NLA_ALIGNTO - 1) / NLA_ALIGNTO * NLA_ALIGNTO;
    table->error = make_room(table, aligned);
    if (table->error < 0)
        return NL_STOP;
    struct raw_qdisc *raw = &table->items[table->n];
    *raw = (struct raw_qdisc){.ifindex = tc->tcm_ifindex,
                              .told = (uint32_t)table->n++,
                              .handle = tc->tcm_handle,
                              .parent = tc->tcm_parent,
                              .sized = attrs[TCA_STAB] != NULL,
                              .options_bytes = (uint32_t)bytes};
    nla_strlcpy(raw->kind, attrs[TCA_KIND], sizeof(raw->kind));
    raw->marked = marked_by(raw->kind, attrs[TCA_XSTATS]);
    if (bytes)
        memcpy(table->options + table->bytes, nla_data(attrs[TCA_OPTIONS]), bytes);
    table->bytes += aligned;
    return NL_OK;
}

/* The kernel's order is kept within an interface. */
static int by_port(const void *a, const void *b)
{
    const struct raw_qdisc *x = a, *y = b;
    if (x->ifindex != y->ifindex)
        return x->ifindex < y->ifindex ? -1 : 1;
    return x->told < y->told ? -1 : x->told > y->told;
}

static int look(struct raw *raw, struct err *err)
{
    struct raw_table *table = raw->table;
    struct tcmsg request = {.tcm_family = AF_UNSPEC};
    table->n = table->bytes = 0;
    table->error = 0;
    int r = netlink_dump(raw->sock, RTM_GETQDISC, &request, sizeof(request), keep_qdisc, table);
    if (table->error < 0)
        return err_sys(err, -table->error, "reading the queues of all ports");
    if (r < 0)
        return netlink_err(err, r, "reading the queues of all ports");
    for (size_t i = 0, at = 0; i < table->n; i++) {
        table->items[i].options = table->options ? table->options + at : NULL;
        at += (table->items[i].options_bytes + NLA_ALIGNTO - 1) / NLA_ALIGNTO * NLA_ALIGNTO;
    }
    if (table->n)
        qsort(table->items, table->n, sizeof(table->items[0]), by_port);
    return 0;
}

void raw_look(struct raw *raw)
{
    raw->looking = true;
    raw->looked = false;
}

void raw_look_away(struct raw *raw)
{
    raw->looking = raw->looked = false;
}

struct root {
    bool put, ended;
};

static int on_root(struct nl_msg *msg, void *arg)
{
    const struct tcmsg *tc = nlmsg_data(nlmsg_hdr(msg));
    ((struct root *)arg)->put = tc->tcm_handle != 0; /* the default's is 0 */
    return NL_OK;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
    (void)msg;
    ((struct root *)arg)->ended = true;
    return NL_STOP;
}

/* Whether the port has a configured root qdisc. Asks for one port alone; some kernels answer
 * nothing for a default one, so the acknowledgement ends the answer. */
static int has_root(struct raw *raw, int ifindex, struct err *err)
{
    struct tcmsg request = {
        .tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex, .tcm_parent = TC_H_ROOT};
    struct root root = {0};
    nl_socket_modify_cb(raw->sock, NL_CB_VALID, NL_CB_CUSTOM, on_root, &root);
    nl_socket_modify_cb(raw->sock, NL_CB_ACK, NL_CB_CUSTOM, on_ack, &root);
    int r =
        nl_send_simple(raw->sock, RTM_GETQDISC, NLM_F_ACK | NLM_F_ECHO, &request, sizeof(request));
    while (r >= 0 && !root.ended)
        r = nl_recvmsgs_default(raw->sock);
    nl_socket_modify_cb(raw->sock, NL_CB_VALID, NL_CB_DEFAULT, NULL, NULL);
    nl_socket_modify_cb(raw->sock, NL_CB_ACK, NL_CB_DEFAULT, NULL, NULL);
    if (r == -NLE_OBJ_NOTFOUND)
        return 0;
    return r < 0 ? netlink_err(err, r, "asking for the root qdisc of interface %d", ifindex)
                 : root.put;
}

static size_t first_of(const struct raw_table *table, int ifindex)
{
    size_t low = 0, high = table->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table->items[middle].ifindex < ifindex)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int raw_read(struct raw *raw, const char *port, struct raw_list *ret_list, struct err *err)
{
    int ifindex = raw_port_index(raw, port, err);
    int r = ifindex < 0 || raw->looked ? ifindex : has_root(raw, ifindex, err);
    if (r == 0) {
        *ret_list = (struct raw_list){.ifindex = ifindex};
        return 0;
    }
    if (r > 0 && !raw->looked)
        r = look(raw, err);
    if (r < 0)
        return r;
    raw->looked = raw->looking;
    size_t first = first_of(raw->table, ifindex), end = first;
    while (end < raw->table->n && raw->table->items[end].ifindex == ifindex)
        end++;
    *ret_list = (struct raw_list){.ifindex = ifindex,
                                  .n = (uint32_t)(end - first),
                                  .items = end > first ? raw->table->items + first : NULL};
    return 0;
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

int raw_record(struct raw *raw, const struct raw_list *list, const char *port, char **ret_text,
               struct err *err)
{
    struct foreign foreign = {0};
    int r = foreign_look(raw->sock, list, &foreign, err);
    if (r >= 0)
        r = foreign_write(&foreign, ret_text, err);
    foreign_done(&foreign);
    if (r < 0)
        err_prefix(err, "%s", port);
    return r;
}

int raw_put_back(struct raw *raw, const struct raw_list *list, const char *port, const char *text,
                 struct err *err)
{
    struct foreign foreign = {0};
    int r = foreign_read(text, &foreign, err);
    if (r >= 0)
        r = foreign_put(raw->sock, list, &foreign, err);
    foreign_done(&foreign);
    if (r < 0)
        err_prefix(err, "putting back what stood on %s before", port);
    return r < 0 ? r : 1;
}
