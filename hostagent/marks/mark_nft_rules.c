#include "hostagent/marks/mark_nft_rules.h"

#include <linux/netfilter.h>
#include <stdio.h>

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
    struct rules_writer w = {.nft = nft, .wish = wish, .table = &wish->tables[0]};
    mark_settings_of(wish->config, &w.settings);
    if (wish->config->is_switch)
        rules_switch_table(&w);
    else
        rules_host_table(&w);
    w.table = &wish->tables[1];
    if (!wish->config->is_switch)
        rules_arp_table(&w);
}
