#include "hostagent/marks/mark_nft_sets.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_arp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define NETWORK   NFT_PAYLOAD_NETWORK_HEADER
#define TRANSPORT NFT_PAYLOAD_TRANSPORT_HEADER

#define PRIORITY (-150) /* behind the tracking of connections */
#define FIN      0x01
#define SYN      0x02
#define RST      0x04
#define ACK      0x10
#define ND_FIRST 133 /* as in mark_packet.bpf.h */
#define ND_LAST  137

/* A rule of one IP version. */
struct version {
    const char *suffix;
    uint8_t nfproto, source, target, address_bytes;
    uint16_t ethernet;
    uint8_t dscp_mask[4];   /* in the first two bytes of the header */
    uint8_t others_mask[2]; /* the rest of these */
    bool checksum;
};

static const struct version versions[2] = {
    {"4", NFPROTO_IPV4, 12, 16, 4, ETH_P_IP, {0x00, 0xfc}, {0xff, 0x03}, true},
    {"6", NFPROTO_IPV6, 8, 24, 16, ETH_P_IPV6, {0x0f, 0xc0}, {0xf0, 0x3f}, false},
};

static const uint8_t zeros[16];

struct writer {
    struct nft *nft;
    const struct mark_nft_wish *wish;
    const struct nft_table *table;
    struct mark_settings settings;
};

const char *mark_nft_counter(uint32_t which)
{
    static const char *const names[] = {"level0",   "level1",  "level2",  "level3",
                                        "level4",   "level5",  "level6",  "level7",
                                        "unmarked", "control", "bleached"};
    return names[which];
}

static void suffixed(char name[NFT_NAME], const char *stem, const struct version *v)
{
    snprintf(name, NFT_NAME, "%s%s", stem, v->suffix);
}

static void dscp_bytes(const struct version *v, uint8_t dscp, uint8_t to[4])
{
    mark_nft_dscp(v->nfproto == NFPROTO_IPV6, dscp, to);
}

static bool has_queues(const struct writer *w)
{
    return w->wish->reach == MARK_REACH_QUEUES && w->settings.class_control;
}

static bool is_netdev(const struct writer *w)
{
    return w->table->family == NFPROTO_NETDEV;
}

/* ---- what many rules share ---- */

static void rule(struct writer *w, const char *chain)
{
    nft_rule(w->nft, w->table, chain);
}

static void of_version(struct writer *w, const struct version *v)
{
    uint16_t type = htons(v->ethernet);
    nft_load_meta(w->nft, is_netdev(w) ? NFT_META_PROTOCOL : NFT_META_NFPROTO, 0);
    if (is_netdev(w))
        nft_is(w->nft, 0, &type, 2);
    else
        nft_is(w->nft, 0, &v->nfproto, 1);
}

static void of_protocol(struct writer *w, uint8_t protocol)
{
    nft_load_meta(w->nft, NFT_META_L4PROTO, 0);
    nft_is(w->nft, 0, &protocol, 1);
}

static void with_flags(struct writer *w, uint8_t of, uint8_t are)
{
    nft_load(w->nft, TRANSPORT, 13, 1, 0);
    nft_mask(w->nft, 0, &of, zeros, 1);
    nft_is(w->nft, 0, &are, 1);
}

static void load_dscp(struct writer *w, const struct version *v, uint32_t reg)
{
    nft_load(w->nft, NETWORK, 0, 2, reg);
    nft_mask(w->nft, reg, v->dscp_mask, zeros, 4);
}

static void write_dscp(struct writer *w, const struct version *v, uint8_t dscp)
{
    uint8_t bytes[4];
    dscp_bytes(v, dscp, bytes);
    nft_load(w->nft, NETWORK, 0, 2, 0);
    nft_mask(w->nft, 0, v->others_mask, bytes, 2);
    nft_store(w->nft, NETWORK, 0, 0, v->checksum);
}

static void load_address(struct writer *w, const struct version *v, uint8_t at, uint32_t reg)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (v->nfproto == NFPROTO_IPV4)
        nft_constant(w->nft, reg, mapped, sizeof(mapped));
    nft_load(w->nft, NETWORK, at, v->address_bytes, v->nfproto == NFPROTO_IPV4 ? reg + 3 : reg);
}

/* As this end sees it, into registers 0 to 9. */
static void load_connection(struct writer *w, const struct version *v, bool arrives)
{
    load_address(w, v, arrives ? v->target : v->source, 0);
    load_address(w, v, arrives ? v->source : v->target, 4);
    nft_load(w->nft, TRANSPORT, arrives ? 2 : 0, 2, 8);
    nft_load(w->nft, TRANSPORT, arrives ? 0 : 2, 2, 9);
}

/* Length and header's length of a segment, into registers 0 to 2: the set `bare` has those that leave
 * nothing for content. */
static void load_lengths(struct writer *w, const struct version *v)
{
    static const uint8_t version_mask = 0xf0, data_offset = 0xf0, whole = 0xff;
    nft_load(w->nft, NETWORK, 0, 1, 0);
    nft_mask(w->nft, 0, v->nfproto == NFPROTO_IPV4 ? &whole : &version_mask, zeros, 1);
    nft_load(w->nft, NETWORK, v->nfproto == NFPROTO_IPV4 ? 2 : 4, 2, 1);
    nft_load(w->nft, TRANSPORT, 12, 1, 2);
    nft_mask(w->nft, 2, &data_offset, zeros, 1);
}

static void set_class(struct writer *w, uint32_t class)
{
    if (!has_queues(w))
        return;
    nft_constant(w->nft, 0, &class, sizeof(class));
    nft_store_meta(w->nft, NFT_META_PRIORITY, 0);
}

/* The end of a packet's way through us. */
static void settle(struct writer *w, const char *chain, uint32_t counter, uint32_t class)
{
    rule(w, chain);
    nft_count(w->nft, mark_nft_counter(counter));
    set_class(w, class);
    nft_accept(w->nft);
}

/* ---- chains ---- */

/* The part of a prefix that an address of this version is compared with; false: none of its addresses
 * are in it. */
static bool part_of(const struct mark_prefix *prefix, const struct version *v, uint8_t mask[16],
                    const uint8_t **ret_address, uint32_t *ret_bits)
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

/* Returns for members, goes on to `else_chain` for all others; nothing when everybody is one. */
static void member_chain(struct writer *w, const char *chain, const struct version *v, uint8_t at,
                         const char *else_chain)
{
    const struct mark_config *config = w->wish->config;
    for (uint32_t i = 0; i < config->members_n; i++) {
        const uint8_t *address;
        uint8_t mask[16];
        uint32_t bits;
        if (!part_of(&config->members[i], v, mask, &address, &bits))
            continue;
        rule(w, chain);
        if (bits) {
            nft_load(w->nft, NETWORK, at, v->address_bytes, 0);
            nft_mask(w->nft, 0, mask, zeros, v->address_bytes);
            nft_is(w->nft, 0, address, v->address_bytes);
        }
        nft_return(w->nft);
    }
    rule(w, chain);
    nft_go(w->nft, else_chain);
}

static void call_members(struct writer *w, const char *from, const char *stem)
{
    if (w->settings.any_member)
        return;
    for (int i = 0; i < 2; i++) {
        char chain[NFT_NAME];
        suffixed(chain, stem, &versions[i]);
        rule(w, from);
        of_version(w, &versions[i]);
        nft_call(w->nft, chain);
    }
}

static void member_chains(struct writer *w, const char *stem, bool of_source,
                          const char *else_chain)
{
    if (w->settings.any_member)
        return;
    for (int i = 0; i < 2; i++) {
        char chain[NFT_NAME];
        suffixed(chain, stem, &versions[i]);
        nft_chain_add(w->nft, w->table, chain);
        member_chain(w, chain, &versions[i], of_source ? versions[i].source : versions[i].target,
                     else_chain);
    }
}

/* CS6 to or from the controllers' port, and neighbour discovery. */
static void to_control(struct writer *w, const char *chain)
{
    for (int i = 0; i < 2 && w->settings.control_port; i++) {
        for (uint32_t at = 0; at <= 2; at += 2) {
            uint8_t dscp[4];
            dscp_bytes(&versions[i], w->settings.control_dscp, dscp);
            rule(w, chain);
            of_version(w, &versions[i]);
            of_protocol(w, IPPROTO_TCP);
            load_dscp(w, &versions[i], 0);
            nft_is(w->nft, 0, dscp, 4);
            nft_load(w->nft, TRANSPORT, at, 2, 0);
            nft_is(w->nft, 0, &w->settings.control_port, 2);
            nft_go(w->nft, "control");
        }
    }
    rule(w, chain);
    of_protocol(w, IPPROTO_ICMPV6);
    nft_load(w->nft, TRANSPORT, 0, 1, 0);
    nft_is_between(w->nft, 0, ND_FIRST, ND_LAST);
    nft_go(w->nft, "control");
}

/* What carries no content and ends nothing waits in level 0's queue. */
static void bare_chain(struct writer *w)
{
    for (int i = 0; i < 2 && has_queues(w); i++) {
        rule(w, "bare");
        of_version(w, &versions[i]);
        of_protocol(w, IPPROTO_TCP);
        with_flags(w, FIN | RST, 0);
        load_lengths(w, &versions[i]);
        nft_is_in(w->nft, 0, "bare");
        set_class(w, w->settings.class_of_level[0]);
    }
    rule(w, "bare");
    nft_accept(w->nft);
}

static void bleach(struct writer *w, const char *chain)
{
    for (int i = 0; i < 2; i++) {
        char ours[NFT_NAME];
        suffixed(ours, "ours", &versions[i]);
        rule(w, chain);
        of_version(w, &versions[i]);
        load_dscp(w, &versions[i], 0);
        nft_is_in(w->nft, 0, ours);
        write_dscp(w, &versions[i], 0);
        nft_count(w->nft, mark_nft_counter(MARK_COUNT_BLEACHED));
    }
}

/* Ends that hosts and switches share. */
static void end_chains(struct writer *w)
{
    settle(w, "control", MARK_COUNT_CONTROL, w->settings.class_control);
    bleach(w, "unmarked");
    settle(w, "unmarked", MARK_COUNT_UNMARKED, w->settings.class_unmanaged);
    settle(w, "plain", MARK_COUNT_UNMARKED, w->settings.class_unmanaged);
    bare_chain(w);
}

static void level_chain(struct writer *w, uint32_t level, bool writes)
{
    const char *chain = mark_nft_counter(level);
    if (level && writes) {
        rule(w, chain);
        of_protocol(w, IPPROTO_TCP);
        with_flags(w, SYN, SYN);
        nft_go(w->nft, mark_nft_counter(0));
    }
    for (int i = 0; i < 2 && writes; i++) {
        rule(w, chain);
        of_version(w, &versions[i]);
        write_dscp(w, &versions[i], w->settings.dscp_of_level[level]);
    }
    rule(w, chain);
    nft_count(w->nft, chain);
    set_class(w, w->settings.class_of_level[level]);
    nft_go(w->nft, "bare");
}

static void mode_chain(struct writer *w, uint32_t mode)
{
    const char *chain = mark_nft_modes[mode];
    for (int i = 0; i < 2 && w->wish->single; i++) {
        rule(w, chain);
        of_version(w, &versions[i]);
        of_protocol(w, IPPROTO_TCP);
        load_connection(w, &versions[i], false);
        nft_go_by(w->nft, 0, mark_nft_maps[MARK_NFT_CONNECTIONS][mode]);
    }
    rule(w, chain);
    nft_load_cgroup(w->nft, w->wish->cgroup_level, 0);
    nft_go_by(w->nft, 0, mark_nft_maps[MARK_NFT_TASKS][mode]);
    rule(w, chain);
    nft_go(w->nft, "unmarked");
}

static void note_content(struct writer *w, const char *chain, bool arrives)
{
    for (int i = 0; i < 2; i++) {
        rule(w, chain);
        of_version(w, &versions[i]);
        of_protocol(w, IPPROTO_TCP);
        load_lengths(w, &versions[i]);
        nft_is_not_in(w->nft, 0, "bare");
        load_connection(w, &versions[i], arrives);
        nft_remember(w->nft, 0, arrives ? MARK_NFT_RECEIVERS : MARK_NFT_SENDERS, MARK_NFT_SILENT_MS,
                     false);
    }
}

/* Which end accepts connections on a port is told by who answers a SYN there and who sends one. */
static void note_served(struct writer *w, const char *chain)
{
    rule(w, chain);
    with_flags(w, SYN | ACK, SYN);
    nft_load(w->nft, TRANSPORT, 0, 2, 0);
    nft_is_in(w->nft, 0, MARK_NFT_SERVED);
    nft_forget(w->nft, 0, MARK_NFT_SERVED);
    rule(w, chain);
    with_flags(w, SYN | ACK, SYN | ACK);
    nft_load(w->nft, TRANSPORT, 0, 2, 0);
    nft_remember(w->nft, 0, MARK_NFT_SERVED, 0, false);
}

static void go_by_mode(struct writer *w, const char *chain)
{
    rule(w, chain);
    nft_load_meta(w->nft, NFT_META_OIFNAME, 0);
    nft_go_by(w->nft, 0, "mode");
}

static void not_on_our_ports(struct writer *w, const char *chain, uint32_t key)
{
    rule(w, chain);
    nft_load_meta(w->nft, key, 0);
    nft_is_not_in(w->nft, 0, "ports");
    nft_accept(w->nft);
}

static void output_chains(struct writer *w)
{
    const uint32_t mask = ARRIVED_MASK;
    member_chains(w, "to", false, "unmarked");
    not_on_our_ports(w, "output", NFT_META_OIFNAME);
    to_control(w, "output");
    rule(w, "output");
    nft_load_meta(w->nft, NFT_META_OIFNAME, 0);
    nft_is_not_in(w->nft, 0, "lease");
    nft_go(w->nft, "plain");
    call_members(w, "output", "to");
    rule(w, "output");
    of_protocol(w, IPPROTO_TCP);
    nft_go(w->nft, "segments");
    go_by_mode(w, "output");

    note_content(w, "segments", false);
    note_served(w, "segments");
    rule(w, "segments");
    nft_load(w->nft, TRANSPORT, 0, 2, 0);
    nft_is_in(w->nft, 0, MARK_NFT_SERVED);
    nft_go(w->nft, "accepted");
    go_by_mode(w, "segments");

    rule(w, "accepted");
    nft_load_mark(w->nft, 0);
    nft_mask(w->nft, 0, &mask, zeros, 4);
    nft_go_by(w->nft, 0, "arrived");
    rule(w, "accepted");
    nft_go(w->nft, "unmarked");
    mode_chain(w, 0);
    mode_chain(w, 1);
}

/* Bytes that come for a task: with them what the packet's headers take. */
static void note_received(struct writer *w, const struct version *v, uint8_t protocol)
{
    static const uint8_t version_mask = 0xf0, data_offset = 0xf0, whole = 0xff;
    rule(w, "input");
    of_version(w, v);
    of_protocol(w, protocol);
    nft_load_cgroup(w->nft, w->wish->cgroup_level, 0);
    nft_is_in(w->nft, 0, "tasks");
    nft_load_meta(w->nft, NFT_META_L4PROTO, 3);
    nft_load(w->nft, NETWORK, 0, 1, 2);
    nft_mask(w->nft, 2, v->nfproto == NFPROTO_IPV4 ? &whole : &version_mask, zeros, 1);
    if (protocol == IPPROTO_TCP) {
        nft_load(w->nft, TRANSPORT, 12, 1, 4);
        nft_mask(w->nft, 4, &data_offset, zeros, 1);
    } else {
        nft_constant(w->nft, 4, zeros, 4);
    }
    nft_remember(w->nft, 0, MARK_NFT_RECEIVED, 0, true);
}

uint32_t mark_nft_header_bytes(const struct nft_element *element)
{
    const uint8_t ip = element->key[8], protocol = element->key[12], offset = element->key[16];
    return (ip >> 4 == 4 ? (ip & 15) * 4u : 40) +
           (protocol == IPPROTO_TCP ? (offset >> 4) * 4u : 8);
}

static void follow_chain(struct writer *w, uint32_t arrived)
{
    const uint32_t bits = ARRIVED_MASK, mark = arrived << ARRIVED_SHIFT, others = ~bits;
    char chain[NFT_NAME];
    if (arrived)
        snprintf(chain, sizeof(chain), "follow%u", arrived - 1);
    else
        snprintf(chain, sizeof(chain), "follow");
    nft_chain_add(w->nft, w->table, chain);
    for (int i = 0; i < 2 && !arrived; i++) {
        char by[NFT_NAME];
        suffixed(by, "follow_by", &versions[i]);
        rule(w, chain);
        of_version(w, &versions[i]);
        load_dscp(w, &versions[i], 0);
        nft_go_by(w->nft, 0, by);
    }
    rule(w, chain);
    nft_load_mark(w->nft, 0);
    nft_mask(w->nft, 0, &bits, zeros, 4);
    nft_is_not(w->nft, 0, &mark, 4);
    nft_load_mark(w->nft, 0);
    nft_mask(w->nft, 0, &others, &mark, 4);
    nft_store_mark(w->nft, 0);
}

static void input_chains(struct writer *w)
{
    member_chains(w, "from", true, "stranger");
    not_on_our_ports(w, "input", NFT_META_IIFNAME);
    for (int i = 0; i < 2; i++) {
        note_received(w, &versions[i], IPPROTO_TCP);
        note_received(w, &versions[i], IPPROTO_UDP);
    }
    call_members(w, "input", "from");
    note_content(w, "input", true);
    rule(w, "input");
    of_protocol(w, IPPROTO_TCP);
    with_flags(w, SYN | ACK, SYN);
    nft_go(w->nft, "follow");
    rule(w, "input");
    of_protocol(w, IPPROTO_TCP);
    nft_load(w->nft, TRANSPORT, 2, 2, 0);
    nft_is_in(w->nft, 0, MARK_NFT_SERVED);
    nft_go(w->nft, "follow");
    rule(w, "stranger");
    nft_accept(w->nft);
}

static void chains(struct writer *w, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        nft_chain_add(w->nft, w->table, names[i]);
}

static void host_table(struct writer *w)
{
    static const char *const names[] = {"control",  "unmarked", "plain",     "bare",    "segments",
                                        "accepted", "coflow",   "macroflow", "stranger"};
    chains(w, names, sizeof(names) / sizeof(names[0]));
    for (uint32_t level = 0; level < MARK_LEVELS; level++)
        nft_chain_add(w->nft, w->table, mark_nft_counter(level));
    for (uint32_t arrived = MARK_LEVELS; arrived > 0; arrived--)
        follow_chain(w, arrived);
    mark_nft_state_sets(w->nft, w->wish);
    mark_nft_port_set(w->nft, w->wish, w->table);
    mark_nft_bare_set(w->nft, w->table);
    mark_nft_arrived_set(w->nft, w->table);
    mark_nft_dscp_sets(w->nft, w->table, w->settings.dscp_of_level, "follow_by", "follow");
    follow_chain(w, 0);
    end_chains(w);
    for (uint32_t level = 0; level < MARK_LEVELS; level++)
        level_chain(w, level, true);
    if (w->wish->reach == MARK_REACH_NOTHING)
        return;
    nft_hook_add(w->nft, w->table, "input", NF_INET_LOCAL_IN, PRIORITY, NULL);
    nft_hook_add(w->nft, w->table, "output", NF_INET_LOCAL_OUT, PRIORITY, NULL);
    nft_hook_add(w->nft, w->table, "forward", NF_INET_FORWARD, PRIORITY, NULL);
    input_chains(w);
    output_chains(w);
    not_on_our_ports(w, "forward", NFT_META_OIFNAME);
    settle(w, "forward", MARK_COUNT_UNMARKED, w->settings.class_unmanaged);
}

static void arp_table(struct writer *w)
{
    if (!has_queues(w))
        return;
    mark_nft_port_set(w->nft, w->wish, w->table);
    nft_hook_add(w->nft, w->table, "output", NF_ARP_OUT, 0, NULL);
    not_on_our_ports(w, "output", NFT_META_OIFNAME);
    rule(w, "output");
    set_class(w, w->settings.class_control);
}

/* Only what goes between members has a class of its own. */
static void classify_chains(struct writer *w)
{
    const uint16_t arp = htons(ETH_P_ARP);
    member_chains(w, "to", false, "unmarked");
    member_chains(w, "from", true, "plain");
    rule(w, "classify");
    nft_load_meta(w->nft, NFT_META_PROTOCOL, 0);
    nft_is(w->nft, 0, &arp, 2);
    nft_go(w->nft, "control");
    to_control(w, "classify");
    for (int i = 0; i < 2; i++) {
        char ours[NFT_NAME];
        suffixed(ours, "ours", &versions[i]);
        rule(w, "classify");
        of_version(w, &versions[i]);
        load_dscp(w, &versions[i], 0);
        nft_is_in(w->nft, 0, ours);
        nft_go(w->nft, "marked");
    }
    rule(w, "classify");
    nft_go(w->nft, "plain");
    call_members(w, "marked", "to");
    call_members(w, "marked", "from");
    for (int i = 0; i < 2; i++) {
        char by[NFT_NAME];
        suffixed(by, "class_by", &versions[i]);
        rule(w, "marked");
        of_version(w, &versions[i]);
        load_dscp(w, &versions[i], 0);
        nft_go_by(w->nft, 0, by);
    }
}

static void switch_table(struct writer *w)
{
    /* Modes are kept here, too. */
    static const char *const names[] = {"control",  "unmarked", "plain",  "bare",
                                        "classify", "marked",   "coflow", "macroflow"};
    chains(w, names, sizeof(names) / sizeof(names[0]));
    for (uint32_t level = 0; level < MARK_LEVELS; level++)
        nft_chain_add(w->nft, w->table, mark_nft_counter(level));
    mark_nft_state_sets(w->nft, w->wish);
    mark_nft_bare_set(w->nft, w->table);
    mark_nft_dscp_sets(w->nft, w->table, w->settings.dscp_of_level, "class_by", "level");
    end_chains(w);
    for (uint32_t level = 0; level < MARK_LEVELS; level++)
        level_chain(w, level, false);
    classify_chains(w);
    const struct mark_config *config = w->wish->config;
    for (uint32_t i = 0; i < config->ports_n && w->wish->reach != MARK_REACH_NOTHING; i++) {
        char chain[NFT_NAME];
        snprintf(chain, sizeof(chain), "port%u", i);
        nft_hook_add(w->nft, w->table, chain, NF_NETDEV_EGRESS, 0, config->ports[i]);
        rule(w, chain);
        nft_call(w->nft, "classify");
    }
}

void mark_nft_tables(const char *name, bool is_switch, struct mark_nft_wish *wish)
{
    wish->tables_n = is_switch ? 1 : 2;
    wish->tables[0].family = is_switch ? NFPROTO_NETDEV : NFPROTO_INET;
    wish->tables[1].family = NFPROTO_ARP;
    for (uint32_t i = 0; i < wish->tables_n; i++)
        snprintf(wish->tables[i].name, NFT_NAME, "%s", name);
}

void mark_nft_rules(struct nft *nft, const struct mark_nft_wish *wish)
{
    struct writer w = {.nft = nft, .wish = wish, .table = &wish->tables[0]};
    mark_settings_of(wish->config, &w.settings);
    if (wish->config->is_switch)
        switch_table(&w);
    else
        host_table(&w);
    w.table = &wish->tables[1];
    if (!wish->config->is_switch)
        arp_table(&w);
}
