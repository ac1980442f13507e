#include "hostagent/marks/mark_nft_rules.h"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>

#define CARRIED "carried" /* from a priority to the chain for what is around such a packet */

static const char *const stems[] = {"inner", "outer", "outer_bare"};

static bool has_tunnels(const struct rules_writer *w)
{
    return w->wish->config->tunnels_n > 0;
}

static void set_priority(struct rules_writer *w, uint32_t priority)
{
    nft_constant(w->nft, 0, &priority, sizeof(priority));
    nft_store_meta(w->nft, NFT_META_PRIORITY, 0);
}

static void on_tunnels(struct rules_writer *w, const char *chain)
{
    rules_begin(w, chain);
    nft_load_meta(w->nft, NFT_META_OIFNAME, 0);
    nft_is_in(w->nft, 0, "tunnels");
}

static void of_level(char name[NFT_NAME], const char *stem, uint32_t level)
{
    snprintf(name, NFT_NAME, "%s%u", stem, level);
}

void rules_tunnel_settle(struct rules_writer *w, const char *chain, uint32_t counter)
{
    if (!has_tunnels(w))
        return;
    on_tunnels(w, chain);
    set_priority(w, MARK_CARRIED | (counter == MARK_COUNT_CONTROL ? MARK_CARRIED_CONTROL
                                                                  : MARK_CARRIED_PLAIN));
    nft_accept(w->nft);
}

void rules_tunnel_level(struct rules_writer *w, const char *chain, uint32_t level)
{
    char inner[NFT_NAME];
    if (!has_tunnels(w))
        return;
    of_level(inner, "inner", level);
    on_tunnels(w, chain);
    nft_go(w->nft, inner);
}

void rules_tunnel_carried(struct rules_writer *w, const char *chain)
{
    if (!has_tunnels(w))
        return;
    rules_begin(w, chain);
    nft_load_meta(w->nft, NFT_META_PRIORITY, 0);
    nft_go_by(w->nft, 0, CARRIED);
}

void rules_tunnel_chains(struct rules_writer *w)
{
    static const char *const ends[] = {"outer_control", "outer_plain"};
    static const uint32_t codes[] = {0, MARK_CARRIED_LEVEL, MARK_CARRIED_BARE};
    char chain[NFT_NAME];
    if (!has_tunnels(w))
        return;
    rules_chains(w, ends, 2);
    for (uint32_t level = 0; level < MARK_LEVELS; level++)
        for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++) {
            of_level(chain, stems[i], level);
            nft_chain_add(w->nft, w->table, chain);
        }
    mark_nft_tunnel_sets(w->nft, w->wish, w->table, CARRIED);
    for (uint32_t level = 0; level < MARK_LEVELS; level++)
        for (size_t i = 1; i < sizeof(stems) / sizeof(stems[0]); i++) {
            of_level(chain, stems[i], level);
            mark_nft_carry(w->nft, w->table, CARRIED, MARK_CARRIED | codes[i] | level, chain);
        }
    mark_nft_carry(w->nft, w->table, CARRIED, MARK_CARRIED | MARK_CARRIED_CONTROL, ends[0]);
    mark_nft_carry(w->nft, w->table, CARRIED, MARK_CARRIED | MARK_CARRIED_PLAIN, ends[1]);
}

static void inner_chain(struct rules_writer *w, uint32_t level)
{
    char chain[NFT_NAME];
    of_level(chain, "inner", level);
    for (int i = 0; i < 2; i++) {
        rules_of_bare(w, chain, &rules_versions[i]);
        set_priority(w, MARK_CARRIED | MARK_CARRIED_BARE | level);
        nft_accept(w->nft);
    }
    rules_begin(w, chain);
    set_priority(w, MARK_CARRIED | MARK_CARRIED_LEVEL | level);
    nft_accept(w->nft);
}

static void outer_chain(struct rules_writer *w, uint32_t level, bool bare)
{
    char chain[NFT_NAME];
    of_level(chain, bare ? "outer_bare" : "outer", level);
    rules_begin(w, chain);
    set_priority(w, 0);
    rules_call_members(w, chain, "to");
    for (int i = 0; i < 2; i++) {
        rules_begin(w, chain);
        rules_of_version(w, &rules_versions[i]);
        rules_write_dscp(w, &rules_versions[i], w->settings.dscp_of_level[level]);
    }
    rules_begin(w, chain);
    nft_count(w->nft, mark_nft_counter(level));
    rules_set_class(w, w->settings.class_of_level[bare ? 0 : level]);
    nft_accept(w->nft);
}

void rules_tunnel_rules(struct rules_writer *w)
{
    if (!has_tunnels(w))
        return;
    for (uint32_t level = 0; level < MARK_LEVELS; level++) {
        inner_chain(w, level);
        outer_chain(w, level, false);
        outer_chain(w, level, true);
    }
    rules_begin(w, "outer_control");
    set_priority(w, 0);
    nft_go(w->nft, "control");
    rules_begin(w, "outer_plain");
    set_priority(w, 0);
    nft_go(w->nft, "plain");
}
