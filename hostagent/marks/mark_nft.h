/* The tables of the nftables mark driver: what mark_nft.c keeps, and mark_nft_rules.c makes of it.
 *
 * A host has a table `inet` that marks and classifies, and one `arp` that lets ARP go first where
 * there are queues; a switch has one `netdev` that classifies what its ports send (Linux ≥ 5.16).
 * All bear one name. Whatever changes but levels, mode and lease is changed by making all of it anew
 * from what the agent and the kernel know, in one transaction. */
#pragma once

#include "hostagent/marks/mark.h"
#include "hostagent/marks/nft_nl.h"

#define MARK_NFT_FAMILIES  3
#define MARK_NFT_SILENT_MS 60000u /* MARK_SILENT_NS */

/* Sets of what packets change. */
#define MARK_NFT_SERVED       "served"       /* ports on which this end accepts connections */
#define MARK_NFT_SENDERS      "senders"      /* 4 and 6: connections with content out, … */
#define MARK_NFT_RECEIVERS    "receivers"    /* … and in, within MARK_NFT_SILENT_MS */
#define MARK_NFT_RECEIVED_TCP "received_tcp" /* cgroup, version, header: packets, bytes */
#define MARK_NFT_RECEIVED_UDP "received_udp" /* the same without a header's length */
#define MARK_NFT_TCP_KEY      16

/* Whose levels: of a cgroup (a key of 8 bytes), or of one connection by its version (NFT_KEY bytes
 * outside of the sets, IPv4 as v4-mapped). */
enum mark_nft_kind { MARK_NFT_TASKS, MARK_NFT_CONNECTIONS4, MARK_NFT_CONNECTIONS6, MARK_NFT_KINDS };

/* A connection's key. */
void mark_nft_key(const struct mark_flow_key *key, uint8_t ret_key[NFT_KEY]);

struct mark_nft_wish {
    const struct mark_config *config;
    enum mark_reach reach;
    bool single;           /* some connections have levels of their own */
    uint32_t cgroup_level; /* of tasks, counted from the root of the cgroup file system */
    struct nft_table tables[MARK_NFT_FAMILIES]; /* the first has all state */
    uint32_t tables_n;
};

/* Which tables, with the name. */
void mark_nft_tables(const char *name, bool is_switch, struct mark_nft_wish *wish);

/* Adds sets without the elements that are state, chains and rules to the open transaction, which has
 * tables and counters already. */
void mark_nft_rules(struct nft *nft, const struct mark_nft_wish *wish);

/* Levels into the open transaction; `stands`: in the place of others. */
void mark_nft_put_task(struct nft *nft, const struct nft_table *table, uint64_t cgroup,
                       uint64_t word, bool stands);
void mark_nft_drop_task(struct nft *nft, const struct nft_table *table, uint64_t cgroup);
void mark_nft_put_connection(struct nft *nft, const struct nft_table *table,
                             const uint8_t key[NFT_KEY], uint64_t word, bool stands);
void mark_nft_drop_connection(struct nft *nft, const struct nft_table *table,
                              const uint8_t key[NFT_KEY]);
/* The same for mode and lease; 0 ms: none. */
void mark_nft_mode(struct nft *nft, const struct mark_nft_wish *wish, uint32_t mode, bool stands);
void mark_nft_lease(struct nft *nft, const struct mark_nft_wish *wish, uint64_t lease_ms);

/* What stands in the kernel: levels of one mode (*ret_elements is the caller's), mode, what is left of
 * the lease. */
int mark_nft_levels(struct nft *nft, const struct nft_table *table, enum mark_nft_kind kind,
                    uint32_t mode, struct nft_element **ret_elements, uint32_t *ret_n,
                    struct err *err);
uint8_t mark_nft_level(const struct nft_element *element); /* of one of these */
int mark_nft_read_mode(struct nft *nft, const struct nft_table *table, uint32_t *ret_mode,
                       struct err *err);
int mark_nft_read_lease(struct nft *nft, const struct nft_table *table, uint64_t *ret_ms,
                        struct err *err);

/* Bytes of headers in each packet that an element of MARK_NFT_RECEIVED_… counts: options of IPv4 and
 * extension headers of IPv6 are taken for content. */
uint32_t mark_nft_header_bytes(const struct nft_element *element);

/* Names of the counters: of a level, and MARK_COUNT_UNMARKED, …CONTROL, …BLEACHED. */
const char *mark_nft_counter(uint32_t which);
