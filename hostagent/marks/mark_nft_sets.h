/* The sets of the nftables mark driver's tables, for mark_nft_rules.c (mark_nft.h has those that
 * the driver fills). */
#pragma once

#include "hostagent/marks/mark_nft.h"

/* The level that last arrived on an accepted connection is in four bits of its connection mark:
 * level + 1, 0 for none. Other bits are not touched. */
#define ARRIVED_SHIFT 24
#define ARRIVED_MASK  0x0f000000u

extern const char *const mark_nft_modes[2];                /* chains */
extern const char *const mark_nft_maps[MARK_NFT_KINDS][2]; /* levels by mode */

/* The code point's bytes in a header: in its second byte, or in IPv6's first two; returns how
 * many. */
uint32_t mark_nft_dscp(bool v6, uint8_t dscp, uint8_t ret_bytes[2]);

/* Adds to the open transaction: the state sets of all tables, without elements. */
void mark_nft_state_sets(struct nft *nft, const struct mark_nft_wish *wish);
/* `ports`: the ports' names. */
void mark_nft_port_set(struct nft *nft, const struct mark_nft_wish *wish,
                       const struct nft_table *table);
/* `bare4`, `bare6`: lengths of segments without payload; `arrived`: maps a connection's mark to its
 * level's chain. */
void mark_nft_bare_set(struct nft *nft, const struct nft_table *table);
void mark_nft_arrived_set(struct nft *nft, const struct nft_table *table);
/* `ours4`, `ours6`: the eight code points; STEM4, STEM6: map them to chains TARGET0 to TARGET7. */
void mark_nft_dscp_sets(struct nft *nft, const struct nft_table *table,
                        const uint8_t dscp_of_level[MARK_LEVELS], const char *stem,
                        const char *target);
/* `tunnels`: their names; and an empty map from priorities to chains, and its elements. */
void mark_nft_tunnel_sets(struct nft *nft, const struct mark_nft_wish *wish,
                          const struct nft_table *table, const char *carried);
void mark_nft_carry(struct nft *nft, const struct nft_table *table, const char *carried,
                    uint32_t priority, const char *chain);
