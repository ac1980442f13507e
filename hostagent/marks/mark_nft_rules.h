/* How the rules of the nftables mark driver are written: for mark_nft_rules.c, which assembles the
 * tables, for the chains of a host and of a switch, and for what both use. A rule is begun, then
 * its matches and actions are added in order; the next rules_begin ends it. */
#pragma once

#include "hostagent/marks/mark_nft_sets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* An IP version, as rules see its headers: offsets and sizes in bytes. */
struct rules_version {
    const char *suffix; /* suffix of names that exist once for each version */
    uint8_t nfproto, source, target, address_bytes;
    uint16_t ethernet;
    uint8_t dscp_at, dscp_bytes;
    uint8_t dscp_mask[2];   /* of these bytes */
    uint8_t others_mask[2]; /* all other bits of the header's first two bytes */
    bool checksum;
};

extern const struct rules_version rules_versions[2];
extern const uint8_t rules_zeros[16];

/* A table that is being written; everything is borrowed. */
struct rules_writer {
    struct nft *nft;
    const struct mark_nft_wish *wish;
    const struct nft_table *table;
    struct mark_settings settings;
};

/* ---- tables: chains, sets, rules and hooks --------------------------------------------------- */

void rules_host_table(struct rules_writer *w);
void rules_arp_table(struct rules_writer *w);
void rules_switch_table(struct rules_writer *w);

/* ---- chains of both --------------------------------------------------------------------- */

void rules_chains(struct rules_writer *w, const char *const *names, size_t n);

/* Chains that return for members and go on to `else_chain` for all others; none if every address is
 * a member. And the rules that call them. */
void rules_member_chains(struct rules_writer *w, const char *stem, bool of_source,
                         const char *else_chain);
void rules_call_members(struct rules_writer *w, const char *from, const char *stem);

/* Final chains: control, unmarked, plain, and bare for segments without payload. */
void rules_end_chains(struct rules_writer *w);
void rules_level_chain(struct rules_writer *w, uint32_t level, bool writes);

/* ---- tunnels over ports: nothing without tunnels ------------------------------------------ */

/* A packet that enters a tunnel keeps the decision about it in its priority, which tells how to
 * mark the outer packet: mark_abi.h has the numbers. First chains and sets, then, once the member
 * chains exist, their rules. */
void rules_tunnel_chains(struct rules_writer *w);
void rules_tunnel_rules(struct rules_writer *w);
/* In these chains: a packet that enters a tunnel ends here, with that counter or this level; the
 * outer packet of a tunnel ends here. */
void rules_tunnel_settle(struct rules_writer *w, const char *chain, uint32_t counter);
void rules_tunnel_level(struct rules_writer *w, const char *chain, uint32_t level);
void rules_tunnel_carried(struct rules_writer *w, const char *chain);

/* ---- rules ----------------------------------------------------------------------------------- */

void rules_begin(struct rules_writer *w, const char *chain);

/* Whether packets get classes. */
bool rules_have_queues(const struct rules_writer *w);
void rules_set_class(struct rules_writer *w, uint32_t class);

/* Ends a packet's processing by us. */
void rules_settle(struct rules_writer *w, const char *chain, uint32_t counter, uint32_t class);

/* CS6 to or from the controllers' port, and neighbour discovery. */
void rules_to_control(struct rules_writer *w, const char *chain);

/* Matches on a packet; register 0 is lost. After these two, nft displays what a rule reads as
 * fields of that protocol. That is needed to show addresses and ports, but wrong where a rule looks
 * into a set by parts of headers (nft_nl.h): such a rule looks into the set first and then matches
 * the version, or matches it without this effect. */
void rules_of_version(struct rules_writer *w, const struct rules_version *v);
void rules_of_unsaid_version(struct rules_writer *w, const struct rules_version *v);
void rules_of_protocol(struct rules_writer *w, uint8_t protocol);
void rules_with_flags(struct rules_writer *w, uint8_t of, uint8_t are); /* TH_… */

/* A rule for segments without payload that end nothing. */
void rules_of_bare(struct rules_writer *w, const char *chain, const struct rules_version *v);

void rules_write_dscp(struct rules_writer *w, const struct rules_version *v, uint8_t dscp);
void rules_load_dscp(struct rules_writer *w, const struct rules_version *v, uint32_t reg);

/* The connection as this end sees it, from register 0 on. */
void rules_load_connection(struct rules_writer *w, const struct rules_version *v, bool arrives);

/* A segment's length and its headers' lengths, from register 0 on: the set `bare4` or `bare6` holds
 * those that leave no payload. */
void rules_load_lengths(struct rules_writer *w, const struct rules_version *v);

void rules_suffixed(char name[NFT_NAME], const char *stem, const struct rules_version *v);
