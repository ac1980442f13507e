#include "hostagent/marks/nft_nl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/batch.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/object.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "hostagent/marks/nft_build.h"

#define PAGE      65536
#define RULE      4096 /* bytes of its message, at most */
#define SEND_MOST (64 << 20)

static void set_buffers(struct nft *nft)
{
    const int bytes = SEND_MOST;
    setsockopt(mnl_socket_get_fd(nft->sock), SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
}

int nft_open(struct nft **ret_nft, struct err *err)
{
    struct nft *nft = calloc(1, sizeof(*nft));
    if (!nft)
        return err_sys(err, ENOMEM, "nftables");
    nft->sock = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
    if (!nft->sock || mnl_socket_bind(nft->sock, 0, MNL_SOCKET_AUTOPID) < 0) {
        int r = err_sys(err, errno, "a socket to the kernel's nftables");
        nft_close(nft);
        return r;
    }
    set_buffers(nft);
    *ret_nft = nft;
    return 0;
}

void nft_close(struct nft *nft)
{
    if (!nft)
        return;
    nft_abort(nft);
    if (nft->sock)
        mnl_socket_close(nft->sock);
    free(nft);
}

void nft_begin(struct nft *nft)
{
    nft->batch = nftnl_batch_alloc(PAGE, PAGE);
    nft->failure = nft->batch ? 0 : -ENOMEM;
    nft->sets = 0;
    nft->shape = NFT_BASIS;
    if (nft->batch) {
        nftnl_batch_begin(nftnl_batch_buffer(nft->batch), nft->sequence++);
        nftnl_batch_update(nft->batch);
    }
}

/* WHY zeros: libmnl leaves what pads attributes as it was, and the bytes of rules are their
 * shape. */
struct nlmsghdr *nft_message(struct nft *nft, uint16_t type, uint32_t family, uint16_t flags)
{
    void *buffer = nftnl_batch_buffer(nft->batch);
    memset(buffer, 0, RULE);
    return nftnl_nlmsg_build_hdr(buffer, type, (uint16_t)family, flags, nft->sequence++);
}

uint64_t nft_mixed(uint64_t sum, uint64_t value)
{
    return (sum ^ value) * 1099511628211u; /* FNV-1a, a word at a time */
}

void nft_message_done(struct nft *nft)
{
    const struct nlmsghdr *message = nftnl_batch_buffer(nft->batch);
    const uint8_t *bytes = mnl_nlmsg_get_payload(message);
    nft->shape = nft_mixed(nft->shape, message->nlmsg_type);
    for (size_t i = 0; i < mnl_nlmsg_get_payload_len(message); i++)
        nft->shape = nft_mixed(nft->shape, bytes[i]);
    if (nftnl_batch_update(nft->batch) < 0)
        nft->failure = -ENOMEM;
}

uint64_t nft_shape(struct nft *nft)
{
    nft_rule_done(nft);
    uint64_t shape = nft->shape;
    nft->shape = NFT_BASIS;
    return shape;
}

void nft_abort(struct nft *nft)
{
    if (nft->rule)
        nftnl_rule_free(nft->rule);
    if (nft->batch)
        nftnl_batch_free(nft->batch);
    nft->rule = NULL;
    nft->batch = NULL;
}

static int send_batch(struct nft *nft)
{
    uint32_t n = (uint32_t)nftnl_batch_iovec_len(nft->batch);
    struct iovec *parts = calloc(n, sizeof(*parts));
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct msghdr message = {
        .msg_name = &kernel, .msg_namelen = sizeof(kernel), .msg_iov = parts, .msg_iovlen = n};
    if (!parts)
        return -ENOMEM;
    nftnl_batch_iovec(nft->batch, parts, n);
    int r = sendmsg(mnl_socket_get_fd(nft->sock), &message, 0) < 0 ? -errno : 0;
    free(parts);
    return r;
}

int nft_first_failure(struct nft *nft)
{
    int failure = 0, overrun = 0;
    for (;;) {
        ssize_t got =
            recv(mnl_socket_get_fd(nft->sock), nft->answer, sizeof(nft->answer), MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == ENOBUFS)) {
            overrun = errno == ENOBUFS ? -ENOBUFS : overrun;
            continue;
        }
        if (got < 0 && errno != EAGAIN)
            return -errno;
        if (got < 0)
            return failure ? failure : overrun;
        int left = (int)got;
        for (const struct nlmsghdr *h = (void *)nft->answer; mnl_nlmsg_ok(h, left);
             h = mnl_nlmsg_next(h, &left)) {
            const struct nlmsgerr *answer = mnl_nlmsg_get_payload(h);
            if (h->nlmsg_type == NLMSG_ERROR && !failure)
                failure = answer->error;
        }
    }
}

int nft_commit(struct nft *nft, const char *what, struct err *err)
{
    nft_rule_done(nft);
    int r = nft->failure;
    if (nft->batch) {
        nftnl_batch_end(nftnl_batch_buffer(nft->batch), nft->sequence++);
        nftnl_batch_update(nft->batch);
        r = r < 0 ? r : send_batch(nft);
        r = r < 0 ? r : nft_first_failure(nft);
        nftnl_batch_free(nft->batch);
        nft->batch = NULL;
    }
    if (r == -EPERM)
        return err_sys(err, EPERM, "%s in nftables (root, or CAP_NET_ADMIN)", what);
    if (r == -EOPNOTSUPP)
        return err_sys(err, -r,
                       "%s in nftables (the kernel needs CONFIG_NF_TABLES_INET and _ARP on a host, "
                       "CONFIG_NF_TABLES_NETDEV on a switch, and NFT_CT and NFT_SOCKET of Linux "
                       "5.13)",
                       what);
    return r < 0 ? err_sys(err, -r, "%s in nftables", what) : 0;
}

static void set_comment(struct nftnl_table *t, const char *comment)
{
    struct nftnl_udata_buf *text = nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN);
    if (!text)
        return;
    nftnl_udata_put_strz(text, NFTNL_UDATA_TABLE_COMMENT, comment);
    nftnl_table_set_data(t, NFTNL_TABLE_USERDATA, nftnl_udata_buf_data(text),
                         nftnl_udata_buf_len(text));
    nftnl_udata_buf_free(text);
}

static void table_message(struct nft *nft, const struct nft_table *table, uint16_t type,
                          uint16_t flags, const char *comment)
{
    struct nftnl_table *t = nft->failure ? NULL : nftnl_table_alloc();
    if (!t) {
        nft->failure = nft->failure ? nft->failure : -ENOMEM;
        return;
    }
    nftnl_table_set_u32(t, NFTNL_TABLE_FAMILY, table->family);
    nftnl_table_set_str(t, NFTNL_TABLE_NAME, table->name);
    if (comment)
        set_comment(t, comment);
    nftnl_table_nlmsg_build_payload(nft_message(nft, type, table->family, flags), t);
    nft_message_done(nft);
    nftnl_table_free(t);
}

void nft_table_add(struct nft *nft, const struct nft_table *table, const char *comment)
{
    table_message(nft, table, NFT_MSG_NEWTABLE, NLM_F_CREATE, comment);
}

void nft_table_delete(struct nft *nft, const struct nft_table *table)
{
    table_message(nft, table, NFT_MSG_DELTABLE, 0, NULL);
}

void nft_counter_add(struct nft *nft, const struct nft_table *table,
                     const struct nft_counter *counter)
{
    struct nftnl_obj *o = nft->failure ? NULL : nftnl_obj_alloc();
    if (!o) {
        nft->failure = nft->failure ? nft->failure : -ENOMEM;
        return;
    }
    nftnl_obj_set_str(o, NFTNL_OBJ_TABLE, table->name);
    nftnl_obj_set_str(o, NFTNL_OBJ_NAME, counter->name);
    nftnl_obj_set_u32(o, NFTNL_OBJ_FAMILY, table->family);
    nftnl_obj_set_u32(o, NFTNL_OBJ_TYPE, NFT_OBJECT_COUNTER);
    nftnl_obj_set_u64(o, NFTNL_OBJ_CTR_PKTS, counter->packets);
    nftnl_obj_set_u64(o, NFTNL_OBJ_CTR_BYTES, counter->bytes);
    nftnl_obj_nlmsg_build_payload(nft_message(nft, NFT_MSG_NEWOBJ, table->family, NLM_F_CREATE), o);
    nft_message_done(nft);
    nftnl_obj_free(o);
}

static struct nftnl_set *set_named(struct nft *nft, const struct nft_table *table, const char *name)
{
    struct nftnl_set *s = nft->failure ? NULL : nftnl_set_alloc();
    if (!s) {
        nft->failure = nft->failure ? nft->failure : -ENOMEM;
        return NULL;
    }
    nftnl_set_set_str(s, NFTNL_SET_TABLE, table->name);
    nftnl_set_set_str(s, NFTNL_SET_NAME, name);
    nftnl_set_set_u32(s, NFTNL_SET_FAMILY, table->family);
    return s;
}

void nft_set_add(struct nft *nft, const struct nft_table *table, const struct nft_set *set)
{
    struct nftnl_set *s = set_named(nft, table, set->name);
    if (!s)
        return;
    uint32_t flags = (set->values ? NFT_SET_MAP : 0) | (set->packets_add ? NFT_SET_EVAL : 0) |
                     (set->expires ? NFT_SET_TIMEOUT : 0);
    nftnl_set_set_u32(s, NFTNL_SET_ID, ++nft->sets);
    nftnl_set_set_u32(s, NFTNL_SET_KEY_LEN, set->key_bytes);
    nftnl_set_set_u32(s, NFTNL_SET_FLAGS, flags);
    if (set->values)
        nftnl_set_set_u32(s, NFTNL_SET_DATA_TYPE,
                          set->values == NFT_VERDICTS ? (uint32_t)NFT_DATA_VERDICT : NFT_TYPE_MARK);
    if (set->values == NFT_NUMBERS)
        nftnl_set_set_u32(s, NFTNL_SET_DATA_LEN, 4);
    if (set->elements_max)
        nftnl_set_set_u32(s, NFTNL_SET_DESC_SIZE, set->elements_max);
    nft_set_describe(s, set);
    nftnl_set_nlmsg_build_payload(nft_message(nft, NFT_MSG_NEWSET, table->family, NLM_F_CREATE), s);
    nft_message_done(nft);
    nftnl_set_free(s);
}

static struct nftnl_set_elem *make_element(const struct nft_element *element)
{
    struct nftnl_set_elem *e = nftnl_set_elem_alloc();
    if (!e)
        return NULL;
    nftnl_set_elem_set(e, NFTNL_SET_ELEM_KEY, element->key, element->key_bytes);
    if (element->life_ms)
        nftnl_set_elem_set_u64(e, NFTNL_SET_ELEM_TIMEOUT, element->life_ms);
    if (element->left_ms)
        nftnl_set_elem_set_u64(e, NFTNL_SET_ELEM_EXPIRATION, element->left_ms);
    if (element->counts) {
        struct nftnl_expr *counter = nftnl_expr_alloc("counter");
        nftnl_expr_set_u64(counter, NFTNL_EXPR_CTR_PACKETS, element->packets);
        nftnl_expr_set_u64(counter, NFTNL_EXPR_CTR_BYTES, element->bytes);
        nftnl_set_elem_add_expr(e, counter);
    }
    return e;
}

static void element_message(struct nft *nft, const struct nft_table *table, const char *set,
                            uint16_t type, struct nftnl_set_elem *element)
{
    struct nftnl_set *s = set_named(nft, table, set);
    if (!s || !element) {
        nft->failure = nft->failure ? nft->failure : -ENOMEM;
        if (element)
            nftnl_set_elem_free(element);
        return;
    }
    nftnl_set_elem_add(s, element);
    uint16_t flags = type == NFT_MSG_NEWSETELEM ? NLM_F_CREATE : 0;
    nftnl_set_elems_nlmsg_build_payload(nft_message(nft, type, table->family, flags), s);
    nft_message_done(nft);
    nftnl_set_free(s);
}

void nft_element_add(struct nft *nft, const struct nft_table *table, const char *set,
                     const struct nft_element *element, enum nft_values values)
{
    struct nftnl_set_elem *e = make_element(element);
    if (e && values == NFT_NUMBERS)
        nftnl_set_elem_set(e, NFTNL_SET_ELEM_DATA, element->value, sizeof(element->value));
    if (e && values == NFT_VERDICTS) {
        nftnl_set_elem_set_u32(e, NFTNL_SET_ELEM_VERDICT, (uint32_t)NFT_GOTO);
        nftnl_set_elem_set_str(e, NFTNL_SET_ELEM_CHAIN, element->chain);
    }
    element_message(nft, table, set, NFT_MSG_NEWSETELEM, e);
}

void nft_element_delete(struct nft *nft, const struct nft_table *table, const char *set,
                        const struct nft_element *element)
{
    const struct nft_element key = {.key_bytes = element->key_bytes};
    struct nft_element bare = key;
    memcpy(bare.key, element->key, sizeof(bare.key));
    element_message(nft, table, set, NFT_MSG_DELSETELEM, make_element(&bare));
}

void nft_set_flush(struct nft *nft, const struct nft_table *table, const char *set)
{
    struct nftnl_set *s = set_named(nft, table, set);
    if (!s)
        return;
    nftnl_set_elems_nlmsg_build_payload(nft_message(nft, NFT_MSG_DELSETELEM, table->family, 0), s);
    nft_message_done(nft);
    nftnl_set_free(s);
}

static void chain_message(struct nft *nft, const struct nft_table *table, struct nftnl_chain *c,
                          const char *chain)
{
    nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, table->name);
    nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, chain);
    nftnl_chain_set_u32(c, NFTNL_CHAIN_FAMILY, table->family);
    nftnl_chain_nlmsg_build_payload(nft_message(nft, NFT_MSG_NEWCHAIN, table->family, NLM_F_CREATE),
                                    c);
    nft_message_done(nft);
    nftnl_chain_free(c);
}

static struct nftnl_chain *chain_alloc(struct nft *nft)
{
    struct nftnl_chain *c = nft->failure ? NULL : nftnl_chain_alloc();
    if (!c && !nft->failure)
        nft->failure = -ENOMEM;
    return c;
}

void nft_chain_add(struct nft *nft, const struct nft_table *table, const char *chain)
{
    struct nftnl_chain *c = chain_alloc(nft);
    if (c)
        chain_message(nft, table, c, chain);
}

void nft_hook_add(struct nft *nft, const struct nft_table *table, const char *chain, uint32_t hook,
                  int32_t priority, const char *device)
{
    struct nftnl_chain *c = chain_alloc(nft);
    if (!c)
        return;
    nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, "filter");
    nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, hook);
    nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, priority);
    nftnl_chain_set_u32(c, NFTNL_CHAIN_POLICY, NF_ACCEPT);
    if (device)
        nftnl_chain_set_str(c, NFTNL_CHAIN_DEV, device);
    chain_message(nft, table, c, chain);
}
