/* How the tables of the nftables mark driver are written: for mark_nft_rules.c, which puts them
 * together, a host's and a switch's chains, and the rules that both are made of. A rule is begun, what
 * it looks at and does is added in that order, and the next one ends it. */
#pragma once

#include "hostagent/marks/mark_nft_sets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* An IP version, as rules see its headers: offsets and sizes in bytes. */
struct rules_version {
    const char *suffix; /* of what there is one of for each */
    uint8_t nfproto, source, target, address_bytes;
    uint16_t ethernet;
    uint8_t dscp_at, dscp_bytes;
    uint8_t dscp_mask[2];   /* in these */
    uint8_t others_mask[2]; /* the rest of the first two bytes of the header */
    bool checksum;
};

extern const struct rules_version rules_versions[2];
extern const uint8_t rules_zeros[16];

/* A table that is being written; all is borrowed. */
struct rules_writer {
    struct nft *nft;
    const struct mark_nft_wish *wish;
    const struct nft_table *table;
    struct mark_settings settings;
};

/* ---- tables: chains, sets, rules and hooks ----------------------------------------------------- */

void rules_host_table(struct rules_writer *w);
void rules_arp_table(struct rules_writer *w);
void rules_switch_table(struct rules_writer *w);

/* ---- chains that both have --------------------------------------------------------------------- */

void rules_chains(struct rules_writer *w, const char *const *names, size_t n);

/* Return for members and go on to `else_chain` for all others; none when everybody is a member. And
 * the rules that call them. */
void rules_member_chains(struct rules_writer *w, const char *stem, bool of_source,
                         const char *else_chain);
void rules_call_members(struct rules_writer *w, const char *from, const char *stem);

/* Ends of a packet's way: control, unmarked, plain, and bare for segments without content. */
void rules_end_chains(struct rules_writer *w);
void rules_level_chain(struct rules_writer *w, uint32_t level, bool writes);

/* ---- tunnels over ports: nothing where there are none ------------------------------------------ */

/* A packet that goes into a tunnel leaves us with what was made of it as its priority, which tells what
 * to make of the packet around it: mark_abi.h has the numbers. Chains and sets, and their rules once the
 * chains of members are there. */
void rules_tunnel_chains(struct rules_writer *w);
void rules_tunnel_rules(struct rules_writer *w);
/* In these chains: what goes into a tunnel ends here, with that counter's or this level; what is around
 * a packet that a tunnel carries ends here. */
void rules_tunnel_settle(struct rules_writer *w, const char *chain, uint32_t counter);
void rules_tunnel_level(struct rules_writer *w, const char *chain, uint32_t level);
void rules_tunnel_carried(struct rules_writer *w, const char *chain);

/* ---- rules ------------------------------------------------------------------------------------- */

void rules_begin(struct rules_writer *w, const char *chain);

/* Whether packets get classes. */
bool rules_have_queues(const struct rules_writer *w);
void rules_set_class(struct rules_writer *w, uint32_t class);

/* The end of a packet's way through us. */
void rules_settle(struct rules_writer *w, const char *chain, uint32_t counter, uint32_t class);

/* CS6 to or from the controllers' port, and neighbour discovery. */
void rules_to_control(struct rules_writer *w, const char *chain);

/* What a packet has to be; register 0 is lost. After these two nft takes what a rule reads for fields of
 * that protocol, which it must where it shall know addresses and ports, and must not where a rule looks
 * into a set by parts of headers (nft_nl.h): such a rule looks there first, and then asks which packet it
 * is, or asks without that being said. */
void rules_of_version(struct rules_writer *w, const struct rules_version *v);
void rules_of_unsaid_version(struct rules_writer *w, const struct rules_version *v);
void rules_of_protocol(struct rules_writer *w, uint8_t protocol);
void rules_with_flags(struct rules_writer *w, uint8_t of, uint8_t are); /* TH_… */

/* A rule for segments that carry no content and end nothing. */
void rules_of_bare(struct rules_writer *w, const char *chain, const struct rules_version *v);

void rules_write_dscp(struct rules_writer *w, const struct rules_version *v, uint8_t dscp);
void rules_load_dscp(struct rules_writer *w, const struct rules_version *v, uint32_t reg);

/* As this end sees it, from register 0 on. */
void rules_load_connection(struct rules_writer *w, const struct rules_version *v, bool arrives);

/* Length and headers' lengths of a segment, from register 0 on: the set `bare4` or `bare6` has those that
 * leave nothing for content. */
void rules_load_lengths(struct rules_writer *w, const struct rules_version *v);

void rules_suffixed(char name[NFT_NAME], const char *stem, const struct rules_version *v);
