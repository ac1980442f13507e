#include "hostagent/marks/mark_nft_rules.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>

/* Only traffic between members has a class of its own. */
static void classify_chains(struct rules_writer *w)
{
    const uint16_t arp = htons(ETH_P_ARP);
    rules_member_chains(w, "to", false, "unmarked");
    rules_member_chains(w, "from", true, "plain");
    rules_tunnel_carried(w, "classify");
    rules_begin(w, "classify");
    nft_load_meta(w->nft, NFT_META_PROTOCOL, 0);
    nft_is(w->nft, 0, &arp, 2);
    nft_go(w->nft, "control");
    rules_to_control(w, "classify");
    for (int i = 0; i < 2; i++) {
        char ours[NFT_NAME];
        rules_suffixed(ours, "ours", &rules_versions[i]);
        rules_begin(w, "classify");
        rules_load_dscp(w, &rules_versions[i], 0);
        nft_is_in(w->nft, 0, ours);
        rules_of_version(w, &rules_versions[i]);
        nft_go(w->nft, "marked");
    }
    rules_begin(w, "classify");
    nft_go(w->nft, "plain");
    rules_call_members(w, "marked", "to");
    rules_call_members(w, "marked", "from");
    for (int i = 0; i < 2; i++) {
        char by[NFT_NAME];
        rules_suffixed(by, "class_by", &rules_versions[i]);
        rules_begin(w, "marked");
        rules_of_unsaid_version(w, &rules_versions[i]);
        rules_load_dscp(w, &rules_versions[i], 0);
        nft_go_by(w->nft, 0, by);
    }
}

void rules_switch_table(struct rules_writer *w)
{
    /* Modes are kept here, too. */
    static const char *const names[] = {"control",  "unmarked", "plain",  "bare",
                                        "classify", "marked",   "coflow", "macroflow"};
    rules_chains(w, names, sizeof(names) / sizeof(names[0]));
    for (uint32_t level = 0; level < MARK_LEVELS; level++)
        nft_chain_add(w->nft, w->table, mark_nft_counter(level));
    mark_nft_state_sets(w->nft, w->wish);
    mark_nft_bare_set(w->nft, w->table);
    mark_nft_dscp_sets(w->nft, w->table, w->settings.dscp_of_level, "class_by", "level");
    rules_tunnel_chains(w);
    rules_end_chains(w);
    for (uint32_t level = 0; level < MARK_LEVELS; level++)
        rules_level_chain(w, level, false);
    classify_chains(w);
    rules_tunnel_rules(w);
    const struct mark_config *config = w->wish->config;
    for (uint32_t i = 0; i < mark_ports(config) && w->wish->reach != MARK_REACH_NOTHING; i++) {
        char chain[NFT_NAME];
        snprintf(chain, sizeof(chain), "port%u", i);
        nft_hook_add(w->nft, w->table, chain, NF_NETDEV_EGRESS, 0, mark_port(config, i));
        rules_begin(w, chain);
        nft_call(w->nft, "classify");
    }
}
