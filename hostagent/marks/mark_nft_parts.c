#include "hostagent/marks/mark_nft_rules.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <string.h>

#define NETWORK   NFT_PAYLOAD_NETWORK_HEADER
#define TRANSPORT NFT_PAYLOAD_TRANSPORT_HEADER

#define ND_FIRST 133 /* as in mark_packet.bpf.h */
#define ND_LAST  137

const struct rules_version rules_versions[2] = {
    {"4", NFPROTO_IPV4, 12, 16, 4, ETH_P_IP, 1, 1, {0xfc}, {0xff, 0x03}, true},
    {"6", NFPROTO_IPV6, 8, 24, 16, ETH_P_IPV6, 0, 2, {0x0f, 0xc0}, {0xf0, 0x3f}, false},
};

const uint8_t rules_zeros[16];

const char *mark_nft_counter(uint32_t which)
{
    static const char *const names[] = {"level0",   "level1",  "level2",  "level3",
                                        "level4",   "level5",  "level6",  "level7",
                                        "unmarked", "control", "bleached"};
    return names[which];
}

void rules_suffixed(char name[NFT_NAME], const char *stem, const struct rules_version *v)
{
    snprintf(name, NFT_NAME, "%s%s", stem, v->suffix);
}

bool rules_have_queues(const struct rules_writer *w)
{
    return w->wish->reach == MARK_REACH_QUEUES && w->settings.class_control;
}

static bool is_netdev(const struct rules_writer *w)
{
    return w->table->family == NFPROTO_NETDEV;
}

void rules_begin(struct rules_writer *w, const char *chain)
{
    nft_rule(w->nft, w->table, chain);
}

void rules_of_version(struct rules_writer *w, const struct rules_version *v)
{
    uint16_t type = htons(v->ethernet);
    nft_load_meta(w->nft, is_netdev(w) ? NFT_META_PROTOCOL : NFT_META_NFPROTO, 0);
    if (is_netdev(w))
        nft_is(w->nft, 0, &type, 2);
    else
        nft_is(w->nft, 0, &v->nfproto, 1);
}

void rules_of_unsaid_version(struct rules_writer *w, const struct rules_version *v)
{
    static const uint8_t mask = 0xf0;
    const uint8_t version = v->nfproto == NFPROTO_IPV4 ? 0x40 : 0x60;
    nft_load(w->nft, NETWORK, 0, 1, 0);
    nft_mask(w->nft, 0, &mask, rules_zeros, 1);
    nft_is(w->nft, 0, &version, 1);
}

void rules_of_protocol(struct rules_writer *w, uint8_t protocol)
{
    nft_load_meta(w->nft, NFT_META_L4PROTO, 0);
    nft_is(w->nft, 0, &protocol, 1);
}

void rules_with_flags(struct rules_writer *w, uint8_t of, uint8_t are)
{
    nft_load(w->nft, TRANSPORT, 13, 1, 0);
    nft_mask(w->nft, 0, &of, rules_zeros, 1);
    nft_is(w->nft, 0, &are, 1);
}

void rules_load_dscp(struct rules_writer *w, const struct rules_version *v, uint32_t reg)
{
    nft_load(w->nft, NETWORK, v->dscp_at, v->dscp_bytes, reg);
    nft_mask(w->nft, reg, v->dscp_mask, rules_zeros, v->dscp_bytes);
}

void rules_write_dscp(struct rules_writer *w, const struct rules_version *v, uint8_t dscp)
{
    uint8_t bytes[3] = {0};
    mark_nft_dscp(v->nfproto == NFPROTO_IPV6, dscp, bytes + v->dscp_at);
    nft_load(w->nft, NETWORK, 0, 2, 0);
    nft_mask(w->nft, 0, v->others_mask, bytes, 2);
    nft_store(w->nft, NETWORK, 0, 0, v->checksum);
}

void rules_load_connection(struct rules_writer *w, const struct rules_version *v, bool arrives)
{
    const uint32_t words = v->address_bytes / 4u;
    nft_load(w->nft, NETWORK, arrives ? v->target : v->source, v->address_bytes, 0);
    nft_load(w->nft, NETWORK, arrives ? v->source : v->target, v->address_bytes, words);
    nft_load(w->nft, TRANSPORT, arrives ? 2 : 0, 2, 2 * words);
    nft_load(w->nft, TRANSPORT, arrives ? 0 : 2, 2, 2 * words + 1);
}

void rules_load_lengths(struct rules_writer *w, const struct rules_version *v)
{
    static const uint8_t data_offset = 0xf0;
    const bool v4 = v->nfproto == NFPROTO_IPV4;
    if (v4)
        nft_load(w->nft, NETWORK, 0, 1, 0);
    nft_load(w->nft, NETWORK, v4 ? 2 : 4, 2, v4 ? 1 : 0);
    nft_load(w->nft, TRANSPORT, 12, 1, v4 ? 2 : 1);
    nft_mask(w->nft, v4 ? 2 : 1, &data_offset, rules_zeros, 1);
}

void rules_set_class(struct rules_writer *w, uint32_t class)
{
    if (!rules_have_queues(w))
        return;
    nft_constant(w->nft, 0, &class, sizeof(class));
    nft_store_meta(w->nft, NFT_META_PRIORITY, 0);
}

void rules_settle(struct rules_writer *w, const char *chain, uint32_t counter, uint32_t class)
{
    rules_tunnel_settle(w, chain, counter);
    rules_begin(w, chain);
    nft_count(w->nft, mark_nft_counter(counter));
    rules_set_class(w, class);
    nft_accept(w->nft);
}

/* The part of a prefix that an address of this version is compared with; false: none of its
 * addresses are in it. */
static bool part_of(const struct mark_prefix *prefix, const struct rules_version *v,
                    uint8_t mask[16], const uint8_t **ret_address, uint32_t *ret_bits)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool v4 = v->nfproto == NFPROTO_IPV4;
    uint32_t bits = v4 && prefix->bits < 96 ? prefix->bits : 96;
    for (uint32_t bit = 0; v4 && bit < bits; bit++)
        if ((prefix->address[bit / 8] ^ mapped[bit / 8]) & 0x80u >> bit % 8)
            return false;
    *ret_address = prefix->address + (v4 ? 12 : 0);
    *ret_bits = !v4 ? prefix->bits : prefix->bits > 96 ? prefix->bits - 96 : 0;
    memset(mask, 0, 16);
    for (uint32_t bit = 0; bit < *ret_bits; bit++)
        mask[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
    return true;
}

/* Returns for members, continues with `else_chain` for all others; nothing when everybody is a
 * member. */
static void member_chain(struct rules_writer *w, const char *chain, const struct rules_version *v,
                         uint8_t at, const char *else_chain)
{
    const struct mark_config *config = w->wish->config;
    for (uint32_t i = 0; i < config->members_n; i++) {
        const uint8_t *address;
        uint8_t mask[16];
        uint32_t bits;
        if (!part_of(&config->members[i], v, mask, &address, &bits))
            continue;
        rules_begin(w, chain);
        if (bits) {
            nft_load(w->nft, NETWORK, at, v->address_bytes, 0);
            nft_mask(w->nft, 0, mask, rules_zeros, v->address_bytes);
            nft_is(w->nft, 0, address, v->address_bytes);
        }
        nft_return(w->nft);
    }
    rules_begin(w, chain);
    nft_go(w->nft, else_chain);
}

void rules_call_members(struct rules_writer *w, const char *from, const char *stem)
{
    if (w->settings.any_member)
        return;
    for (int i = 0; i < 2; i++) {
        char chain[NFT_NAME];
        rules_suffixed(chain, stem, &rules_versions[i]);
        rules_begin(w, from);
        rules_of_version(w, &rules_versions[i]);
        nft_call(w->nft, chain);
    }
}

void rules_member_chains(struct rules_writer *w, const char *stem, bool of_source,
                         const char *else_chain)
{
    if (w->settings.any_member)
        return;
    for (int i = 0; i < 2; i++) {
        char chain[NFT_NAME];
        rules_suffixed(chain, stem, &rules_versions[i]);
        nft_chain_add(w->nft, w->table, chain);
        member_chain(w, chain, &rules_versions[i],
                     of_source ? rules_versions[i].source : rules_versions[i].target, else_chain);
    }
}

void rules_to_control(struct rules_writer *w, const char *chain)
{
    for (int i = 0; i < 2 && w->settings.control_port; i++) {
        for (uint32_t at = 0; at <= 2; at += 2) {
            uint8_t dscp[2];
            uint32_t n = mark_nft_dscp(i, w->settings.control_dscp, dscp);
            rules_begin(w, chain);
            rules_of_version(w, &rules_versions[i]);
            rules_of_protocol(w, IPPROTO_TCP);
            rules_load_dscp(w, &rules_versions[i], 0);
            nft_is(w->nft, 0, dscp, n);
            nft_load(w->nft, TRANSPORT, at, 2, 0);
            nft_is(w->nft, 0, &w->settings.control_port, 2);
            nft_go(w->nft, "control");
        }
    }
    rules_begin(w, chain);
    rules_of_protocol(w, IPPROTO_ICMPV6);
    nft_load(w->nft, TRANSPORT, 0, 1, 0);
    nft_is_between(w->nft, 0, ND_FIRST, ND_LAST);
    nft_go(w->nft, "control");
}

void rules_of_bare(struct rules_writer *w, const char *chain, const struct rules_version *v)
{
    char bare[NFT_NAME];
    rules_suffixed(bare, "bare", v);
    rules_begin(w, chain);
    rules_with_flags(w, TH_FIN | TH_RST, 0);
    rules_load_lengths(w, v);
    nft_is_in(w->nft, 0, bare);
    rules_of_version(w, v);
    rules_of_protocol(w, IPPROTO_TCP);
}

/* Segments without payload that end nothing wait in level 0's queue. */
static void bare_chain(struct rules_writer *w)
{
    for (int i = 0; i < 2 && rules_have_queues(w); i++) {
        rules_of_bare(w, "bare", &rules_versions[i]);
        rules_set_class(w, w->settings.class_of_level[0]);
    }
    rules_begin(w, "bare");
    nft_accept(w->nft);
}

static void bleach(struct rules_writer *w, const char *chain)
{
    for (int i = 0; i < 2; i++) {
        char ours[NFT_NAME];
        rules_suffixed(ours, "ours", &rules_versions[i]);
        rules_begin(w, chain);
        rules_load_dscp(w, &rules_versions[i], 0);
        nft_is_in(w->nft, 0, ours);
        rules_of_version(w, &rules_versions[i]);
        rules_write_dscp(w, &rules_versions[i], 0);
        nft_count(w->nft, mark_nft_counter(MARK_COUNT_BLEACHED));
    }
}

void rules_end_chains(struct rules_writer *w)
{
    rules_settle(w, "control", MARK_COUNT_CONTROL, w->settings.class_control);
    bleach(w, "unmarked");
    rules_settle(w, "unmarked", MARK_COUNT_UNMARKED, w->settings.class_unmanaged);
    rules_settle(w, "plain", MARK_COUNT_UNMARKED, w->settings.class_unmanaged);
    bare_chain(w);
}

void rules_level_chain(struct rules_writer *w, uint32_t level, bool writes)
{
    const char *chain = mark_nft_counter(level);
    if (level && writes) {
        rules_begin(w, chain);
        rules_of_protocol(w, IPPROTO_TCP);
        rules_with_flags(w, TH_SYN, TH_SYN);
        nft_go(w->nft, mark_nft_counter(0));
    }
    for (int i = 0; i < 2 && writes; i++) {
        rules_begin(w, chain);
        rules_of_version(w, &rules_versions[i]);
        rules_write_dscp(w, &rules_versions[i], w->settings.dscp_of_level[level]);
    }
    rules_tunnel_level(w, chain, level);
    rules_begin(w, chain);
    nft_count(w->nft, chain);
    rules_set_class(w, w->settings.class_of_level[level]);
    nft_go(w->nft, "bare");
}

void rules_chains(struct rules_writer *w, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        nft_chain_add(w->nft, w->table, names[i]);
}
