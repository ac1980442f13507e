#include "hostagent/marks/mark_nft_rules.h"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_arp.h>
#include <stdio.h>

#define NETWORK   NFT_PAYLOAD_NETWORK_HEADER
#define TRANSPORT NFT_PAYLOAD_TRANSPORT_HEADER
#define PRIORITY  (-150) /* behind the tracking of connections */

static void mode_chain(struct rules_writer *w, uint32_t mode)
{
    const char *chain = mark_nft_modes[mode];
    for (int i = 0; i < 2 && w->wish->single; i++) {
        rules_begin(w, chain);
        rules_of_version(w, &rules_versions[i]);
        rules_of_protocol(w, IPPROTO_TCP);
        rules_load_connection(w, &rules_versions[i], false);
        nft_go_by(w->nft, 0, mark_nft_maps[MARK_NFT_CONNECTIONS4 + i][mode]);
    }
    rules_begin(w, chain);
    nft_load_cgroup(w->nft, w->wish->cgroup_level, 0);
    nft_go_by(w->nft, 0, mark_nft_maps[MARK_NFT_TASKS][mode]);
    rules_begin(w, chain);
    nft_go(w->nft, "unmarked");
}

static void note_content(struct rules_writer *w, const char *chain, bool arrives)
{
    for (int i = 0; i < 2; i++) {
        char bare[NFT_NAME], set[NFT_NAME];
        rules_suffixed(bare, "bare", &rules_versions[i]);
        rules_suffixed(set, arrives ? MARK_NFT_RECEIVERS : MARK_NFT_SENDERS, &rules_versions[i]);
        rules_begin(w, chain);
        rules_load_lengths(w, &rules_versions[i]);
        nft_is_not_in(w->nft, 0, bare);
        rules_of_version(w, &rules_versions[i]);
        rules_of_protocol(w, IPPROTO_TCP);
        rules_load_connection(w, &rules_versions[i], arrives);
        nft_remember(w->nft, 0, set, MARK_NFT_SILENT_MS, false);
    }
}

/* Which end accepts connections on a port follows from who answers a SYN there and who sends
 * one. */
static void note_served(struct rules_writer *w, const char *chain)
{
    rules_begin(w, chain);
    rules_with_flags(w, TH_SYN | TH_ACK, TH_SYN);
    nft_load(w->nft, TRANSPORT, 0, 2, 0);
    nft_is_in(w->nft, 0, MARK_NFT_SERVED);
    nft_forget(w->nft, 0, MARK_NFT_SERVED);
    rules_begin(w, chain);
    rules_with_flags(w, TH_SYN | TH_ACK, TH_SYN | TH_ACK);
    nft_load(w->nft, TRANSPORT, 0, 2, 0);
    nft_remember(w->nft, 0, MARK_NFT_SERVED, 0, false);
}

static void go_by_mode(struct rules_writer *w, const char *chain)
{
    rules_begin(w, chain);
    nft_load_meta(w->nft, NFT_META_OIFNAME, 0);
    nft_go_by(w->nft, 0, "mode");
}

static void not_on_our_ports(struct rules_writer *w, const char *chain, uint32_t key)
{
    rules_begin(w, chain);
    nft_load_meta(w->nft, key, 0);
    nft_is_not_in(w->nft, 0, "ports");
    nft_accept(w->nft);
}

static void output_chains(struct rules_writer *w)
{
    const uint32_t mask = ARRIVED_MASK;
    rules_member_chains(w, "to", false, "unmarked");
    not_on_our_ports(w, "output", NFT_META_OIFNAME);
    rules_tunnel_carried(w, "output");
    rules_to_control(w, "output");
    rules_begin(w, "output");
    nft_load_meta(w->nft, NFT_META_OIFNAME, 0);
    nft_is_not_in(w->nft, 0, "lease");
    nft_go(w->nft, "plain");
    rules_call_members(w, "output", "to");
    rules_begin(w, "output");
    rules_of_protocol(w, IPPROTO_TCP);
    nft_go(w->nft, "segments");
    go_by_mode(w, "output");

    note_content(w, "segments", false);
    note_served(w, "segments");
    rules_begin(w, "segments");
    nft_load(w->nft, TRANSPORT, 0, 2, 0);
    nft_is_in(w->nft, 0, MARK_NFT_SERVED);
    nft_go(w->nft, "accepted");
    go_by_mode(w, "segments");

    rules_begin(w, "accepted");
    nft_load_mark(w->nft, 0);
    nft_mask(w->nft, 0, &mask, rules_zeros, 4);
    nft_go_by(w->nft, 0, "arrived");
    rules_begin(w, "accepted");
    nft_go(w->nft, "unmarked");
    mode_chain(w, 0);
    mode_chain(w, 1);
}

/* Counts bytes received for a task by the length of the packet's headers. TCP's header length is
 * read where nft does not know that it is TCP's. */
static void note_received(struct rules_writer *w, uint8_t protocol)
{
    const bool tcp = protocol == IPPROTO_TCP;
    rules_begin(w, "input");
    rules_of_protocol(w, protocol);
    nft_load_cgroup(w->nft, w->wish->cgroup_level, 0);
    nft_is_in(w->nft, 0, "tasks");
    if (tcp) {
        nft_call(w->nft, MARK_NFT_RECEIVED_TCP);
        rules_begin(w, MARK_NFT_RECEIVED_TCP);
        nft_load_cgroup(w->nft, w->wish->cgroup_level, 0);
    }
    nft_load_meta(w->nft, NFT_META_NFPROTO, 2);
    if (tcp)
        nft_load(w->nft, TRANSPORT, 12, 1, 3);
    nft_remember(w->nft, 0, tcp ? MARK_NFT_RECEIVED_TCP : MARK_NFT_RECEIVED_UDP, 0, true);
}

uint32_t mark_nft_header_bytes(const struct nft_element *element)
{
    const uint32_t ip = element->key[8] == NFPROTO_IPV4 ? 20 : 40;
    return ip + (element->key_bytes == MARK_NFT_TCP_KEY ? (element->key[12] >> 4) * 4u : 8);
}

static void follow_chain(struct rules_writer *w, uint32_t arrived)
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
        rules_suffixed(by, "follow_by", &rules_versions[i]);
        rules_begin(w, chain);
        rules_of_unsaid_version(w, &rules_versions[i]);
        rules_load_dscp(w, &rules_versions[i], 0);
        nft_go_by(w->nft, 0, by);
    }
    rules_begin(w, chain);
    nft_load_mark(w->nft, 0);
    nft_mask(w->nft, 0, &bits, rules_zeros, 4);
    nft_is_not(w->nft, 0, &mark, 4);
    nft_load_mark(w->nft, 0);
    nft_mask(w->nft, 0, &others, &mark, 4);
    nft_store_mark(w->nft, 0);
}

static void input_chains(struct rules_writer *w)
{
    rules_member_chains(w, "from", true, "stranger");
    not_on_our_ports(w, "input", NFT_META_IIFNAME);
    note_received(w, IPPROTO_UDP);
    note_received(w, IPPROTO_TCP);
    rules_call_members(w, "input", "from");
    note_content(w, "input", true);
    rules_begin(w, "input");
    rules_of_protocol(w, IPPROTO_TCP);
    rules_with_flags(w, TH_SYN | TH_ACK, TH_SYN);
    nft_go(w->nft, "follow");
    rules_begin(w, "input");
    rules_of_protocol(w, IPPROTO_TCP);
    nft_load(w->nft, TRANSPORT, 2, 2, 0);
    nft_is_in(w->nft, 0, MARK_NFT_SERVED);
    nft_go(w->nft, "follow");
    rules_begin(w, "stranger");
    nft_accept(w->nft);
}

void rules_host_table(struct rules_writer *w)
{
    static const char *const names[] = {"control",  "unmarked",           "plain",  "bare",
                                        "segments", "accepted",           "coflow", "macroflow",
                                        "stranger", MARK_NFT_RECEIVED_TCP};
    rules_chains(w, names, sizeof(names) / sizeof(names[0]));
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
    rules_tunnel_chains(w);
    rules_end_chains(w);
    for (uint32_t level = 0; level < MARK_LEVELS; level++)
        rules_level_chain(w, level, true);
    if (w->wish->reach == MARK_REACH_NOTHING)
        return;
    nft_hook_add(w->nft, w->table, "input", NF_INET_LOCAL_IN, PRIORITY, NULL);
    nft_hook_add(w->nft, w->table, "output", NF_INET_LOCAL_OUT, PRIORITY, NULL);
    nft_hook_add(w->nft, w->table, "forward", NF_INET_FORWARD, PRIORITY, NULL);
    input_chains(w);
    output_chains(w);
    rules_tunnel_rules(w);
    not_on_our_ports(w, "forward", NFT_META_OIFNAME);
    rules_settle(w, "forward", MARK_COUNT_UNMARKED, w->settings.class_unmanaged);
}

void rules_arp_table(struct rules_writer *w)
{
    if (!rules_have_queues(w))
        return;
    mark_nft_port_set(w->nft, w->wish, w->table);
    nft_hook_add(w->nft, w->table, "output", NF_ARP_OUT, 0, NULL);
    not_on_our_ports(w, "output", NFT_META_OIFNAME);
    rules_begin(w, "output");
    rules_set_class(w, w->settings.class_control);
}
