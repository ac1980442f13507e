/* The sets of the nftables mark driver's tables, for mark_nft_rules.c (mark_nft.h has what the driver
 * itself puts into them). */
#pragma once

#include "hostagent/marks/mark_nft.h"

/* Which level came last on an accepted connection stands in four bits of its connection mark: level
 * + 1, 0 for none. Nobody else's bits are touched. */
#define ARRIVED_SHIFT 24
#define ARRIVED_MASK  0x0f000000u

extern const char *const mark_nft_modes[2];                /* chains */
extern const char *const mark_nft_maps[MARK_NFT_KINDS][2]; /* levels by mode */

/* The code point as it stands in a header: in its second byte, or in IPv6's first two; how many. */
uint32_t mark_nft_dscp(bool v6, uint8_t dscp, uint8_t ret_bytes[2]);

/* Into the open transaction. State: of all tables that have some, without elements. */
void mark_nft_state_sets(struct nft *nft, const struct mark_nft_wish *wish);
/* `ports`: their names. */
void mark_nft_port_set(struct nft *nft, const struct mark_nft_wish *wish,
                       const struct nft_table *table);
/* `bare4`, `bare6`: lengths of segments without content; `arrived`: from a connection's mark to the chain of its
 * level. */
void mark_nft_bare_set(struct nft *nft, const struct nft_table *table);
void mark_nft_arrived_set(struct nft *nft, const struct nft_table *table);
/* `ours4`, `ours6`: the eight code points; STEM4, STEM6: from them to chains TARGET0 to TARGET7. */
void mark_nft_dscp_sets(struct nft *nft, const struct nft_table *table,
                        const uint8_t dscp_of_level[MARK_LEVELS], const char *stem,
                        const char *target);
/* `tunnels`: their names; and an empty one from priorities to chains, and what goes into that. */
void mark_nft_tunnel_sets(struct nft *nft, const struct mark_nft_wish *wish,
                          const struct nft_table *table, const char *carried);
void mark_nft_carry(struct nft *nft, const struct nft_table *table, const char *carried,
                    uint32_t priority, const char *chain);
