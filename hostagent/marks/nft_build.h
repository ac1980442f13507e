/* What nft_nl.c, nft_rule.c and nft_read.c share: a socket, and the open transaction. */
#pragma once

#include "hostagent/marks/nft_nl.h"

struct mnl_socket;
struct nftnl_batch;
struct nftnl_rule;
struct nlmsghdr;

#define NFT_BASIS 14695981039346656037u /* initial value of nft_mixed */

struct nft {
    struct mnl_socket *sock;
    struct nftnl_batch *batch; /* NULL: no transaction is open */
    struct nftnl_rule *rule;   /* not in the batch yet */
    struct nft_table table;    /* table of the rule */
    uint32_t sequence, sets;
    uint64_t shape;
    int failure; /* −errno of what could not be built */
    char answer[65536];
};

/* Begins a message in the transaction; call nft_message_done when it is complete. */
struct nlmsghdr *nft_message(struct nft *nft, uint16_t type, uint32_t family, uint16_t flags);
void nft_message_done(struct nft *nft);
void nft_rule_done(struct nft *nft);

struct nftnl_set;
/* What nft is to show of a set to people: its key's type, order of bytes, and what it is read
 * from. */
void nft_set_describe(struct nftnl_set *s, const struct nft_set *set);

uint64_t nft_mixed(uint64_t sum, uint64_t value);

/* −errno or 0. The kernel has answered before sendmsg returns: with nothing but what failed, of
 * which there may be more than the socket has room for. */
int nft_first_failure(struct nft *nft);
