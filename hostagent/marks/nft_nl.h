/* Transactions with the kernel's nftables, for mark_nft.c alone (libnftnl, libmnl; Linux ≥ 5.13).
 *
 * What is added or deleted between nft_begin and nft_commit takes effect for all packets at once,
 * or not at all. Rules are written as the kernel's own expressions: each reads and fills registers
 * of 4 bytes, 0 to 15, and the first that does not match ends its rule. A failure to build is
 * remembered and returned by nft_commit. Blocking, for one exchange with the kernel. One thread;
 * belongs to the network namespace in which it was opened. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define NFT_NAME 64 /* bytes of a table's, set's or chain's name, with its NUL */
#define NFT_KEY  40

struct nft_table {
    uint32_t family; /* NFPROTO_… */
    char name[NFT_NAME];
};

enum nft_values {
    NFT_PLAIN,
    NFT_NUMBERS,
    NFT_VERDICTS
}; /* of 4 bytes; the next chain of a
                                                           * packet */

/* A part of a key without a type of nft's own: its source is declared to nft ("typeof"). Offsets
 * and sizes in bits. */
enum nft_source { NFT_OF_NETWORK, NFT_OF_TRANSPORT, NFT_OF_CGROUP, NFT_OF_VERSION };
struct nft_part {
    enum nft_source source;
    uint32_t offset, size; /* of bytes of a header */
};
#define NFT_PARTS 3

/* WHY types and sources: nft uses them to list a set, and can load its own listing only if the
 * rules that look into the set read exactly the same. For parts of headers that holds only if nft
 * does not know yet, at that place of the rule, which header it is: otherwise it takes the bytes
 * for a field. */
struct nft_set {
    const char *name;
    uint32_t key_bytes;
    uint32_t key_type; /* nft's type: NFT_TYPE_… of its parts, the last one lowest */
    struct nft_part parts[NFT_PARTS]; /* instead of a type */
    uint32_t parts_n;                 /* 0: it has a type */
    enum nft_values values;
    bool packets_add; /* rules may add elements, too */
    bool expires;
    uint32_t elements_max; /* 0: no bound */
};

#define NFT_TYPE_VERSION 2u /* IPv4 or IPv6 */
#define NFT_TYPE_INTEGER 4u
#define NFT_TYPE_IP4     7u
#define NFT_TYPE_IP6     8u
#define NFT_TYPE_SERVICE 13u
#define NFT_TYPE_MARK    19u
#define NFT_TYPE_CLASS   23u
#define NFT_TYPE_IFNAME  41u
#define NFT_TYPE_CGROUP  46u
#define NFT_TYPES(a, b)  ((a) << 6 | (b))

struct nft_element {
    uint8_t key[NFT_KEY];
    uint32_t key_bytes;
    char chain[16];   /* NFT_VERDICTS: where to go */
    uint8_t value[4]; /* NFT_NUMBERS */
    uint64_t left_ms; /* until it expires; 0: never */
    uint64_t life_ms; /* lifetime, from when it was last added or used */
    bool counts;
    uint64_t packets, bytes; /* with `counts` */
};

struct nft_counter {
    char name[NFT_NAME];
    uint64_t packets, bytes;
};

struct nft;

int nft_open(struct nft **ret_nft, struct err *err);
void nft_close(struct nft *nft); /* takes NULL */

void nft_begin(struct nft *nft);
/* `what` says in an error what was to be done; nothing has changed then. */
int nft_commit(struct nft *nft, const char *what, struct err *err);
void nft_abort(struct nft *nft);

/* A hash of what was written into the transaction since the last call: equal for equal content. */
uint64_t nft_shape(struct nft *nft);

/* `comment`: shown by nft beside the table's name. */
void nft_table_add(struct nft *nft, const struct nft_table *table, const char *comment);
void nft_table_delete(struct nft *nft, const struct nft_table *table);
void nft_counter_add(struct nft *nft, const struct nft_table *table,
                     const struct nft_counter *counter);
void nft_set_add(struct nft *nft, const struct nft_table *table, const struct nft_set *set);
void nft_set_flush(struct nft *nft, const struct nft_table *table, const char *set);
void nft_element_add(struct nft *nft, const struct nft_table *table, const char *set,
                     const struct nft_element *element, enum nft_values values);
void nft_element_delete(struct nft *nft, const struct nft_table *table, const char *set,
                        const struct nft_element *element);
void nft_chain_add(struct nft *nft, const struct nft_table *table, const char *chain);
/* A base chain. `device` NULL: packets of all devices. */
void nft_hook_add(struct nft *nft, const struct nft_table *table, const char *chain, uint32_t hook,
                  int32_t priority, const char *device);

/* Begins a rule, to which the following expressions belong. */
void nft_rule(struct nft *nft, const struct nft_table *table, const char *chain);
void nft_load_meta(struct nft *nft, uint32_t key, uint32_t reg);
void nft_store_meta(struct nft *nft, uint32_t key, uint32_t reg);
void nft_load_mark(struct nft *nft, uint32_t reg); /* of the connection */
void nft_store_mark(struct nft *nft, uint32_t reg);
void nft_load_cgroup(struct nft *nft, uint32_t level,
                     uint32_t reg); /* of the socket: 2 registers */
void nft_load(struct nft *nft, uint32_t base, uint32_t offset, uint32_t bytes, uint32_t reg);
/* Stores two bytes; `checksum`: updates IPv4's header checksum. */
void nft_store(struct nft *nft, uint32_t base, uint32_t offset, uint32_t reg, bool checksum);
void nft_constant(struct nft *nft, uint32_t reg, const void *bytes, uint32_t n);
void nft_mask(struct nft *nft, uint32_t reg, const void *mask, const void *toggle, uint32_t n);
void nft_is(struct nft *nft, uint32_t reg, const void *bytes, uint32_t n);
void nft_is_not(struct nft *nft, uint32_t reg, const void *bytes, uint32_t n);
void nft_is_between(struct nft *nft, uint32_t reg, uint8_t least, uint8_t most);
void nft_is_in(struct nft *nft, uint32_t reg, const char *set);
void nft_is_not_in(struct nft *nft, uint32_t reg, const char *set);
void nft_go_by(struct nft *nft, uint32_t reg, const char *set); /* NFT_VERDICTS */
/* Adds from the packet: refreshed for `life_ms`, 0: does not expire; `counts`: counts the
 * packet. */
void nft_remember(struct nft *nft, uint32_t reg, const char *set, uint64_t life_ms, bool counts);
void nft_forget(struct nft *nft, uint32_t reg, const char *set);
void nft_count(struct nft *nft, const char *counter);
void nft_accept(struct nft *nft);
void nft_return(struct nft *nft);
void nft_go(struct nft *nft, const char *chain);   /* for good */
void nft_call(struct nft *nft, const char *chain); /* and returns */

/* 1: it exists; 0: it does not. */
int nft_table_stands(struct nft *nft, const struct nft_table *table, struct err *err);
/* Of an existing table: a number that changes with its rules. */
int nft_table_print(struct nft *nft, const struct nft_table *table, uint64_t *ret_print,
                    struct err *err);
/* The caller owns *ret_elements (free). */
int nft_elements(struct nft *nft, const struct nft_table *table, const char *set,
                 struct nft_element **ret_elements, uint32_t *ret_n, struct err *err);
/* The same, and none if there is no such set: the table may be of another version of ours. */
int nft_elements_of(struct nft *nft, const struct nft_table *table, const char *set,
                    struct nft_element **ret_elements, uint32_t *ret_n, struct err *err);
int nft_counters(struct nft *nft, const struct nft_table *table, struct nft_counter *ret_counters,
                 uint32_t most, uint32_t *ret_n, struct err *err);
