/* The tables of the nftables mark driver: mark_nft.c keeps the state, mark_nft_rules.c writes the
 * rules.
 *
 * A host has a table `inet` that marks and classifies, and, with queues, one `arp` that serves ARP
 * first; a switch has one `netdev` that classifies what its ports send (Linux ≥ 5.16). All have the
 * same name. Any change except of levels, mode and lease rewrites all of it in one transaction,
 * from what the agent and the kernel know. */
#pragma once

#include "hostagent/marks/mark.h"
#include "hostagent/marks/nft_nl.h"

#define MARK_NFT_FAMILIES  3
#define MARK_NFT_SILENT_MS 60000u /* MARK_SILENT_NS */

/* Sets that packets change. */
#define MARK_NFT_SERVED       "served"       /* ports on which this end accepts connections */
#define MARK_NFT_SENDERS      "senders"      /* 4 and 6: connections that sent payload, … */
#define MARK_NFT_RECEIVERS    "receivers"    /* … and received it, within MARK_NFT_SILENT_MS */
#define MARK_NFT_RECEIVED_TCP "received_tcp" /* cgroup, version, header: packets, bytes */
#define MARK_NFT_RECEIVED_UDP "received_udp" /* the same without the header length */
#define MARK_NFT_TCP_KEY      16

/* Key of a level: a cgroup (8 bytes), or one connection by its IP version (NFT_KEY bytes outside of
 * the sets, IPv4 as v4-mapped). */
enum mark_nft_kind { MARK_NFT_TASKS, MARK_NFT_CONNECTIONS4, MARK_NFT_CONNECTIONS6, MARK_NFT_KINDS };

/* A connection's key. */
void mark_nft_key(const struct mark_flow_key *key, uint8_t ret_key[NFT_KEY]);

struct mark_nft_wish {
    const struct mark_config *config;
    enum mark_reach reach;
    bool single;           /* some connections have levels of their own */
    uint32_t cgroup_level; /* depth of tasks below the root of the cgroup file system */
    struct nft_table tables[MARK_NFT_FAMILIES]; /* the first one has all state */
    uint32_t tables_n;
};

/* Sets which tables there are, with this name. */
void mark_nft_tables(const char *name, bool is_switch, struct mark_nft_wish *wish);

/* Adds chains, rules, and sets without their state elements, to the open transaction, which has
 * tables and counters already. */
void mark_nft_rules(struct nft *nft, const struct mark_nft_wish *wish);

/* Adds levels to the open transaction; `stands`: replaces existing ones. */
void mark_nft_put_task(struct nft *nft, const struct nft_table *table, uint64_t cgroup,
                       uint64_t word, bool stands);
void mark_nft_drop_task(struct nft *nft, const struct nft_table *table, uint64_t cgroup);
void mark_nft_put_connection(struct nft *nft, const struct nft_table *table,
                             const uint8_t key[NFT_KEY], uint64_t word, bool stands);
void mark_nft_drop_connection(struct nft *nft, const struct nft_table *table,
                              const uint8_t key[NFT_KEY]);
/* The same for mode and lease; 0 ms: no lease. */
void mark_nft_mode(struct nft *nft, const struct mark_nft_wish *wish, uint32_t mode, bool stands);
void mark_nft_lease(struct nft *nft, const struct mark_nft_wish *wish, uint64_t lease_ms);

/* Reads the kernel's state: levels of one mode (the caller owns *ret_elements), the mode, and the
 * rest of the lease. */
int mark_nft_levels(struct nft *nft, const struct nft_table *table, enum mark_nft_kind kind,
                    uint32_t mode, struct nft_element **ret_elements, uint32_t *ret_n,
                    struct err *err);
uint8_t mark_nft_level(const struct nft_element *element); /* of one of these */
int mark_nft_read_mode(struct nft *nft, const struct nft_table *table, uint32_t *ret_mode,
                       struct err *err);
int mark_nft_read_lease(struct nft *nft, const struct nft_table *table, uint64_t *ret_ms,
                        struct err *err);

/* Header bytes in each packet that an element of MARK_NFT_RECEIVED_… counts: IPv4 options and IPv6
 * extension headers count as payload. */
uint32_t mark_nft_header_bytes(const struct nft_element *element);

/* Names of the counters: of a level, and MARK_COUNT_UNMARKED, …CONTROL, …BLEACHED. */
const char *mark_nft_counter(uint32_t which);
