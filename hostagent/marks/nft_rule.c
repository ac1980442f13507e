#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include "hostagent/marks/nft_build.h"

static uint32_t reg_of(uint32_t reg)
{
    return NFT_REG32_00 + reg;
}

void nft_rule_done(struct nft *nft)
{
    if (!nft->rule)
        return;
    if (!nft->failure) {
        nftnl_rule_nlmsg_build_payload(
            nft_message(nft, NFT_MSG_NEWRULE, nft->table.family, NLM_F_CREATE | NLM_F_APPEND),
            nft->rule);
        nft_message_done(nft);
    }
    nftnl_rule_free(nft->rule);
    nft->rule = NULL;
}

void nft_rule(struct nft *nft, const struct nft_table *table, const char *chain)
{
    nft_rule_done(nft);
    nft->rule = nft->failure ? NULL : nftnl_rule_alloc();
    if (!nft->rule) {
        nft->failure = nft->failure ? nft->failure : -ENOMEM;
        return;
    }
    nft->table = *table;
    nftnl_rule_set_str(nft->rule, NFTNL_RULE_TABLE, table->name);
    nftnl_rule_set_str(nft->rule, NFTNL_RULE_CHAIN, chain);
    nftnl_rule_set_u32(nft->rule, NFTNL_RULE_FAMILY, table->family);
}

/* At the end of the rule, which owns it; NULL after a failure. */
static struct nftnl_expr *add(struct nft *nft, const char *kind)
{
    struct nftnl_expr *e = nft->rule ? nftnl_expr_alloc(kind) : NULL;
    if (e)
        nftnl_rule_add_expr(nft->rule, e);
    else if (!nft->failure)
        nft->failure = -ENOMEM;
    return e;
}

static void two(struct nft *nft, const char *kind, uint16_t first, uint32_t a, uint16_t second,
                uint32_t b)
{
    struct nftnl_expr *e = add(nft, kind);
    if (!e)
        return;
    nftnl_expr_set_u32(e, first, a);
    nftnl_expr_set_u32(e, second, b);
}

void nft_load_meta(struct nft *nft, uint32_t key, uint32_t reg)
{
    two(nft, "meta", NFTNL_EXPR_META_KEY, key, NFTNL_EXPR_META_DREG, reg_of(reg));
}

void nft_store_meta(struct nft *nft, uint32_t key, uint32_t reg)
{
    two(nft, "meta", NFTNL_EXPR_META_KEY, key, NFTNL_EXPR_META_SREG, reg_of(reg));
}

void nft_load_mark(struct nft *nft, uint32_t reg)
{
    two(nft, "ct", NFTNL_EXPR_CT_KEY, NFT_CT_MARK, NFTNL_EXPR_CT_DREG, reg_of(reg));
}

void nft_store_mark(struct nft *nft, uint32_t reg)
{
    two(nft, "ct", NFTNL_EXPR_CT_KEY, NFT_CT_MARK, NFTNL_EXPR_CT_SREG, reg_of(reg));
}

void nft_load_cgroup(struct nft *nft, uint32_t level, uint32_t reg)
{
    struct nftnl_expr *e = add(nft, "socket");
    if (!e)
        return;
    nftnl_expr_set_u32(e, NFTNL_EXPR_SOCKET_KEY, NFT_SOCKET_CGROUPV2);
    nftnl_expr_set_u32(e, NFTNL_EXPR_SOCKET_LEVEL, level);
    nftnl_expr_set_u32(e, NFTNL_EXPR_SOCKET_DREG, reg_of(reg));
}

static struct nftnl_expr *payload(struct nft *nft, uint32_t base, uint32_t offset, uint32_t bytes)
{
    struct nftnl_expr *e = add(nft, "payload");
    if (!e)
        return NULL;
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, base);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, bytes);
    return e;
}

void nft_load(struct nft *nft, uint32_t base, uint32_t offset, uint32_t bytes, uint32_t reg)
{
    struct nftnl_expr *e = payload(nft, base, offset, bytes);
    if (e)
        nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, reg_of(reg));
}

void nft_store(struct nft *nft, uint32_t base, uint32_t offset, uint32_t reg, bool checksum)
{
    struct nftnl_expr *e = payload(nft, base, offset, 2);
    if (!e)
        return;
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_SREG, reg_of(reg));
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_CSUM_TYPE,
                       checksum ? NFT_PAYLOAD_CSUM_INET : NFT_PAYLOAD_CSUM_NONE);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_CSUM_OFFSET, checksum ? 10 : 0);
}

void nft_constant(struct nft *nft, uint32_t reg, const void *bytes, uint32_t n)
{
    struct nftnl_expr *e = add(nft, "immediate");
    if (!e)
        return;
    nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, reg_of(reg));
    nftnl_expr_set(e, NFTNL_EXPR_IMM_DATA, bytes, n);
}

void nft_mask(struct nft *nft, uint32_t reg, const void *mask, const void *toggle, uint32_t n)
{
    struct nftnl_expr *e = add(nft, "bitwise");
    if (!e)
        return;
    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, reg_of(reg));
    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, reg_of(reg));
    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_OP, NFT_BITWISE_BOOL);
    nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, n);
    nftnl_expr_set(e, NFTNL_EXPR_BITWISE_MASK, mask, n);
    nftnl_expr_set(e, NFTNL_EXPR_BITWISE_XOR, toggle, n);
}

static void compare(struct nft *nft, uint32_t reg, uint32_t how, const void *bytes, uint32_t n)
{
    struct nftnl_expr *e = add(nft, "cmp");
    if (!e)
        return;
    nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, reg_of(reg));
    nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, how);
    nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, bytes, n);
}

void nft_is(struct nft *nft, uint32_t reg, const void *bytes, uint32_t n)
{
    compare(nft, reg, NFT_CMP_EQ, bytes, n);
}

void nft_is_not(struct nft *nft, uint32_t reg, const void *bytes, uint32_t n)
{
    compare(nft, reg, NFT_CMP_NEQ, bytes, n);
}

void nft_is_between(struct nft *nft, uint32_t reg, uint8_t least, uint8_t most)
{
    compare(nft, reg, NFT_CMP_GTE, &least, 1);
    compare(nft, reg, NFT_CMP_LTE, &most, 1);
}

static struct nftnl_expr *lookup(struct nft *nft, uint32_t reg, const char *set)
{
    struct nftnl_expr *e = add(nft, "lookup");
    if (!e)
        return NULL;
    nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, reg_of(reg));
    nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, set);
    return e;
}

void nft_is_in(struct nft *nft, uint32_t reg, const char *set)
{
    lookup(nft, reg, set);
}

void nft_is_not_in(struct nft *nft, uint32_t reg, const char *set)
{
    struct nftnl_expr *e = lookup(nft, reg, set);
    if (e)
        nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_FLAGS, NFT_LOOKUP_F_INV);
}

void nft_go_by(struct nft *nft, uint32_t reg, const char *set)
{
    struct nftnl_expr *e = lookup(nft, reg, set);
    if (e)
        nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_DREG, NFT_REG_VERDICT);
}

static struct nftnl_expr *change(struct nft *nft, uint32_t how, uint32_t reg, const char *set)
{
    struct nftnl_expr *e = add(nft, "dynset");
    if (!e)
        return NULL;
    nftnl_expr_set_u32(e, NFTNL_EXPR_DYNSET_OP, how);
    nftnl_expr_set_u32(e, NFTNL_EXPR_DYNSET_SREG_KEY, reg_of(reg));
    nftnl_expr_set_str(e, NFTNL_EXPR_DYNSET_SET_NAME, set);
    return e;
}

void nft_remember(struct nft *nft, uint32_t reg, const char *set, uint64_t life_ms, bool counts)
{
    struct nftnl_expr *e = change(nft, NFT_DYNSET_OP_UPDATE, reg, set);
    if (e && life_ms)
        nftnl_expr_set_u64(e, NFTNL_EXPR_DYNSET_TIMEOUT, life_ms);
    if (e && counts)
        nftnl_expr_set(e, NFTNL_EXPR_DYNSET_EXPR, nftnl_expr_alloc("counter"), 0);
}

void nft_forget(struct nft *nft, uint32_t reg, const char *set)
{
    change(nft, NFT_DYNSET_OP_DELETE, reg, set);
}

void nft_count(struct nft *nft, const char *counter)
{
    struct nftnl_expr *e = add(nft, "objref");
    if (!e)
        return;
    nftnl_expr_set_u32(e, NFTNL_EXPR_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER);
    nftnl_expr_set_str(e, NFTNL_EXPR_OBJREF_IMM_NAME, counter);
}

static void verdict(struct nft *nft, int what, const char *chain)
{
    struct nftnl_expr *e = add(nft, "immediate");
    if (!e)
        return;
    nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
    nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, (uint32_t)what);
    if (chain)
        nftnl_expr_set_str(e, NFTNL_EXPR_IMM_CHAIN, chain);
}

void nft_accept(struct nft *nft)
{
    verdict(nft, NF_ACCEPT, NULL);
}

void nft_return(struct nft *nft)
{
    verdict(nft, NFT_RETURN, NULL);
}

void nft_go(struct nft *nft, const char *chain)
{
    verdict(nft, NFT_GOTO, chain);
}

void nft_call(struct nft *nft, const char *chain)
{
    verdict(nft, NFT_JUMP, chain);
}
