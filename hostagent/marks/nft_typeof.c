/* Declarations that nft uses to show sets and to read them again: the numbers are nft's own (its
 * include/datatype.h, expression.h, proto.h) for what it has stored itself. */
#include "hostagent/marks/nft_build.h"

#include <libnftnl/set.h>
#include <libnftnl/udata.h>
#include <linux/netfilter/nf_tables.h>

#define ORDER_MIXED   0
#define ORDER_HOST    1
#define ORDER_NETWORK 2

enum { EXPR_VERDICT = 1, EXPR_PAYLOAD = 7, EXPR_META = 9, EXPR_SOCKET = 10, EXPR_CONCAT = 13 };
enum { PAYLOAD_PROTOCOL, PAYLOAD_FIELD, PAYLOAD_BASE, PAYLOAD_OFFSET, PAYLOAD_SIZE };
enum { BASE_NETWORK = 2, BASE_TRANSPORT = 3 };
#define KEY 0 /* of a socket or a packet's meta data */

static uint32_t type_of(const struct nft_part *part)
{
    switch (part->source) {
    case NFT_OF_CGROUP:
        return NFT_TYPE_CGROUP;
    case NFT_OF_VERSION:
        return NFT_TYPE_VERSION;
    default:
        return NFT_TYPE_INTEGER;
    }
}

static uint32_t key_type(const struct nft_set *set)
{
    uint32_t type = set->key_type;
    for (uint32_t i = 0; i < set->parts_n; i++)
        type = NFT_TYPES(type, type_of(&set->parts[i]));
    return type;
}

static bool is_ours(uint32_t type)
{
    return type == NFT_TYPE_MARK || type == NFT_TYPE_CLASS || type == NFT_TYPE_IFNAME ||
           type == NFT_TYPE_CGROUP;
}

static void put_payload(struct nftnl_udata_buf *text, const struct nft_part *part)
{
    nftnl_udata_put_u32(text, PAYLOAD_PROTOCOL, 0);
    nftnl_udata_put_u32(text, PAYLOAD_FIELD, 0);
    nftnl_udata_put_u32(text, PAYLOAD_BASE,
                        part->source == NFT_OF_NETWORK ? BASE_NETWORK : BASE_TRANSPORT);
    nftnl_udata_put_u32(text, PAYLOAD_OFFSET, part->offset);
    nftnl_udata_put_u32(text, PAYLOAD_SIZE, part->size);
}

static void put_part(struct nftnl_udata_buf *text, const struct nft_part *part)
{
    static const uint32_t expressions[] = {EXPR_PAYLOAD, EXPR_PAYLOAD, EXPR_SOCKET, EXPR_META};
    nftnl_udata_put_u32(text, NFTNL_UDATA_SET_TYPEOF_EXPR, expressions[part->source]);
    struct nftnl_udata *data = nftnl_udata_nest_start(text, NFTNL_UDATA_SET_TYPEOF_DATA);
    if (part->source == NFT_OF_CGROUP)
        nftnl_udata_put_u32(text, KEY, NFT_SOCKET_CGROUPV2);
    else if (part->source == NFT_OF_VERSION)
        nftnl_udata_put_u32(text, KEY, NFT_META_NFPROTO);
    else
        put_payload(text, part);
    nftnl_udata_nest_end(text, data);
}

static void put_parts(struct nftnl_udata_buf *text, const struct nft_set *set)
{
    nftnl_udata_put_u32(text, NFTNL_UDATA_SET_TYPEOF_EXPR, EXPR_CONCAT);
    struct nftnl_udata *data = nftnl_udata_nest_start(text, NFTNL_UDATA_SET_TYPEOF_DATA);
    for (uint32_t i = 0; i < set->parts_n; i++) {
        struct nftnl_udata *part = nftnl_udata_nest_start(text, (uint8_t)i);
        put_part(text, &set->parts[i]);
        nftnl_udata_nest_end(text, part);
    }
    nftnl_udata_nest_end(text, data);
}

static void put_sources(struct nftnl_udata_buf *text, const struct nft_set *set)
{
    struct nftnl_udata *key = nftnl_udata_nest_start(text, NFTNL_UDATA_SET_KEY_TYPEOF);
    if (set->parts_n == 1)
        put_part(text, &set->parts[0]);
    else
        put_parts(text, set);
    nftnl_udata_nest_end(text, key);
}

static void put_verdicts(struct nftnl_udata_buf *text)
{
    nftnl_udata_put_u32(text, NFTNL_UDATA_SET_DATABYTEORDER, ORDER_MIXED);
    struct nftnl_udata *value = nftnl_udata_nest_start(text, NFTNL_UDATA_SET_DATA_TYPEOF);
    nftnl_udata_put_u32(text, NFTNL_UDATA_SET_TYPEOF_EXPR, EXPR_VERDICT);
    nftnl_udata_nest_end(text, nftnl_udata_nest_start(text, NFTNL_UDATA_SET_TYPEOF_DATA));
    nftnl_udata_nest_end(text, value);
}

void nft_set_describe(struct nftnl_set *s, const struct nft_set *set)
{
    const uint32_t type = key_type(set);
    struct nftnl_udata_buf *text = nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN);
    nftnl_set_set_u32(s, NFTNL_SET_KEY_TYPE, type);
    if (!text)
        return;
    nftnl_udata_put_u32(text, NFTNL_UDATA_SET_KEYBYTEORDER,
                        set->parts_n > 1 ? ORDER_MIXED
                        : is_ours(type)  ? ORDER_HOST
                                         : ORDER_NETWORK);
    if (set->parts_n)
        put_sources(text, set);
    if (set->parts_n && set->values == NFT_VERDICTS)
        put_verdicts(text);
    nftnl_set_set_data(s, NFTNL_SET_USERDATA, nftnl_udata_buf_data(text),
                       nftnl_udata_buf_len(text));
    nftnl_udata_buf_free(text);
}
