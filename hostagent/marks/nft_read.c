/* Reads the kernel's nftables; changes nothing. */
#include "hostagent/marks/nft_build.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/object.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES   5
#define REQUEST 1024

struct reading {
    void *into;
    uint32_t n, most;
    uint64_t print;
};

/* libmnl takes a length above INT_MAX for one that fits. */
static bool lengths_are_true(const char *bytes, size_t n)
{
    struct nlmsghdr header;
    while (n >= sizeof(header)) {
        memcpy(&header, bytes, sizeof(header));
        size_t length = NLMSG_ALIGN((size_t)header.nlmsg_len);
        if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > n)
            return false;
        bytes += length;
        n -= length < n ? length : n;
    }
    return true;
}

static int receive(struct nft *nft, const struct nlmsghdr *request, mnl_cb_t each,
                   struct reading *reading)
{
    uint32_t port = mnl_socket_get_portid(nft->sock);
    if (mnl_socket_sendto(nft->sock, request, request->nlmsg_len) < 0)
        return -errno;
    for (int more = 1; more > 0;) {
        ssize_t got = mnl_socket_recvfrom(nft->sock, nft->answer, sizeof(nft->answer));
        if (got < 0 && errno == EINTR)
            continue;
        if (got >= 0 && !lengths_are_true(nft->answer, (size_t)got))
            return -EBADMSG;
        more = got < 0
                   ? -1
                   : mnl_cb_run(nft->answer, (size_t)got, request->nlmsg_seq, port, each, reading);
        if (more < 0)
            return -errno;
    }
    return 0;
}

/* Once more if another transaction came in between. */
static int dump(struct nft *nft, const struct nlmsghdr *request, mnl_cb_t each,
                struct reading *reading)
{
    const uint64_t print = reading->print;
    int r = -EINTR;
    for (int i = 0; r == -EINTR && i < TRIES; i++) {
        reading->n = 0;
        reading->print = print;
        r = receive(nft, request, each, reading);
        if (r < 0)
            nft_first_failure(nft); /* what is left of the answer */
    }
    return r;
}

static struct nlmsghdr *ask(struct nft *nft, char *buffer, uint16_t type, uint32_t family,
                            uint16_t flags)
{
    memset(buffer, 0, REQUEST); /* libmnl 1.0.4 leaves what is between attributes as it was */
    return nftnl_nlmsg_build_hdr(buffer, type, (uint16_t)family, flags, nft->sequence++);
}

static int nothing(const struct nlmsghdr *message, void *arg)
{
    (void)message;
    (void)arg;
    return MNL_CB_OK;
}

int nft_table_stands(struct nft *nft, const struct nft_table *table, struct err *err)
{
    char buffer[REQUEST];
    struct nlmsghdr *request = ask(nft, buffer, NFT_MSG_GETTABLE, table->family, NLM_F_ACK);
    mnl_attr_put_strz(request, NFTA_TABLE_NAME, table->name);
    struct reading reading = {0};
    int r = dump(nft, request, nothing, &reading);
    if (r == -ENOENT)
        return 0;
    return r < 0 ? err_sys(err, -r, "looking for the table %s in nftables", table->name) : 1;
}

static void mix(struct reading *reading, uint64_t value)
{
    reading->print = nft_mixed(reading->print, value);
}

static int mix_rule(const struct nlmsghdr *message, void *arg)
{
    struct nftnl_rule *rule = nftnl_rule_alloc();
    if (rule && nftnl_rule_nlmsg_parse(message, rule) >= 0)
        mix(arg, nftnl_rule_get_u64(rule, NFTNL_RULE_HANDLE));
    if (rule)
        nftnl_rule_free(rule);
    return MNL_CB_OK;
}

static int mix_table(const struct nlmsghdr *message, void *arg)
{
    struct nftnl_table *table = nftnl_table_alloc();
    if (table && nftnl_table_nlmsg_parse(message, table) >= 0) {
        mix(arg, nftnl_table_get_u64(table, NFTNL_TABLE_HANDLE));
        mix(arg, nftnl_table_get_u32(table, NFTNL_TABLE_FLAGS));
        mix(arg, nftnl_table_get_u32(table, NFTNL_TABLE_USE));
    }
    if (table)
        nftnl_table_free(table);
    return MNL_CB_OK;
}

int nft_table_print(struct nft *nft, const struct nft_table *table, uint64_t *ret_print,
                    struct err *err)
{
    char buffer[REQUEST];
    struct reading reading = {.print = NFT_BASIS};
    struct nlmsghdr *request = ask(nft, buffer, NFT_MSG_GETTABLE, table->family, NLM_F_ACK);
    mnl_attr_put_strz(request, NFTA_TABLE_NAME, table->name);
    int r = dump(nft, request, mix_table, &reading);
    request = ask(nft, buffer, NFT_MSG_GETRULE, table->family, NLM_F_DUMP);
    mnl_attr_put_strz(request, NFTA_RULE_TABLE, table->name);
    if (r >= 0)
        r = dump(nft, request, mix_rule, &reading);
    if (r < 0)
        return err_sys(err, -r, "reading the table %s in nftables", table->name);
    *ret_print = reading.print;
    return 0;
}

static int take_counter_of(struct nftnl_expr *e, void *arg)
{
    struct nft_element *element = arg;
    if (strcmp(nftnl_expr_get_str(e, NFTNL_EXPR_NAME), "counter") == 0) {
        element->counts = true;
        element->packets = nftnl_expr_get_u64(e, NFTNL_EXPR_CTR_PACKETS);
        element->bytes = nftnl_expr_get_u64(e, NFTNL_EXPR_CTR_BYTES);
    }
    return 0;
}

static int take_element(struct nftnl_set_elem *e, void *arg)
{
    struct reading *reading = arg;
    struct nft_element element = {0};
    uint32_t key = 0, value = 0;
    const void *bytes = nftnl_set_elem_get(e, NFTNL_SET_ELEM_KEY, &key);
    if (!bytes || key > NFT_KEY)
        return 0;
    memcpy(element.key, bytes, key);
    element.key_bytes = key;
    bytes = nftnl_set_elem_get(e, NFTNL_SET_ELEM_DATA, &value);
    if (bytes && value == sizeof(element.value))
        memcpy(element.value, bytes, value);
    if (nftnl_set_elem_is_set(e, NFTNL_SET_ELEM_CHAIN))
        snprintf(element.chain, sizeof(element.chain), "%s",
                 nftnl_set_elem_get_str(e, NFTNL_SET_ELEM_CHAIN));
    if (nftnl_set_elem_is_set(e, NFTNL_SET_ELEM_TIMEOUT))
        element.life_ms = nftnl_set_elem_get_u64(e, NFTNL_SET_ELEM_TIMEOUT);
    if (nftnl_set_elem_is_set(e, NFTNL_SET_ELEM_EXPIRATION))
        element.left_ms = nftnl_set_elem_get_u64(e, NFTNL_SET_ELEM_EXPIRATION);
    nftnl_set_elem_expr_foreach(e, take_counter_of, &element);
    if (reading->n == reading->most) {
        uint32_t most = reading->most ? 2 * reading->most : 64;
        void *larger = realloc(reading->into, most * sizeof(element));
        if (!larger)
            return -1;
        reading->into = larger;
        reading->most = most;
    }
    ((struct nft_element *)reading->into)[reading->n++] = element;
    return 0;
}

static int take_elements(const struct nlmsghdr *message, void *arg)
{
    struct nftnl_set *set = nftnl_set_alloc();
    int r = set && nftnl_set_elems_nlmsg_parse(message, set) >= 0 &&
                    nftnl_set_elem_foreach(set, take_element, arg) >= 0
                ? MNL_CB_OK
                : MNL_CB_ERROR;
    if (set)
        nftnl_set_free(set);
    return r;
}

int nft_elements(struct nft *nft, const struct nft_table *table, const char *set,
                 struct nft_element **ret_elements, uint32_t *ret_n, struct err *err)
{
    char buffer[REQUEST];
    struct reading reading = {0};
    struct nlmsghdr *request = ask(nft, buffer, NFT_MSG_GETSETELEM, table->family, NLM_F_DUMP);
    mnl_attr_put_strz(request, NFTA_SET_ELEM_LIST_TABLE, table->name);
    mnl_attr_put_strz(request, NFTA_SET_ELEM_LIST_SET, set);
    int r = dump(nft, request, take_elements, &reading);
    if (r < 0) {
        free(reading.into);
        return err_sys(err, -r, "reading the set %s of the table %s in nftables", set, table->name);
    }
    *ret_elements = reading.into;
    *ret_n = reading.n;
    return 0;
}

int nft_elements_of(struct nft *nft, const struct nft_table *table, const char *set,
                    struct nft_element **ret_elements, uint32_t *ret_n, struct err *err)
{
    int r = nft_elements(nft, table, set, ret_elements, ret_n, err);
    if (r != -ENOENT)
        return r;
    *ret_elements = NULL;
    *ret_n = 0;
    return 0;
}

static int take_counter(const struct nlmsghdr *message, void *arg)
{
    struct reading *reading = arg;
    struct nft_counter *counters = reading->into;
    struct nftnl_obj *o = nftnl_obj_alloc();
    if (o && nftnl_obj_nlmsg_parse(message, o) >= 0 && reading->n < reading->most) {
        struct nft_counter *counter = &counters[reading->n++];
        snprintf(counter->name, NFT_NAME, "%s", nftnl_obj_get_str(o, NFTNL_OBJ_NAME));
        counter->packets = nftnl_obj_get_u64(o, NFTNL_OBJ_CTR_PKTS);
        counter->bytes = nftnl_obj_get_u64(o, NFTNL_OBJ_CTR_BYTES);
    }
    if (o)
        nftnl_obj_free(o);
    return MNL_CB_OK;
}

int nft_counters(struct nft *nft, const struct nft_table *table, struct nft_counter *ret_counters,
                 uint32_t most, uint32_t *ret_n, struct err *err)
{
    char buffer[REQUEST];
    struct reading reading = {.into = ret_counters, .most = most};
    struct nlmsghdr *request = ask(nft, buffer, NFT_MSG_GETOBJ, table->family, NLM_F_DUMP);
    mnl_attr_put_strz(request, NFTA_OBJ_TABLE, table->name);
    mnl_attr_put_u32(request, NFTA_OBJ_TYPE, htonl(NFT_OBJECT_COUNTER));
    int r = dump(nft, request, take_counter, &reading);
    if (r < 0)
        return err_sys(err, -r, "reading the counters of the table %s in nftables", table->name);
    *ret_n = reading.n;
    return 0;
}
