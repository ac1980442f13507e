/* The levels that the nftables mark driver was given, and how its tables are written from them; for
 * mark_nft.c only.
 *
 * The kernel's tables hold the same; this copy is needed to repair or change them. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/files.h"
#include "hostagent/marks/mark_nft.h"

#include <uthash.h>

struct task { /* or a cgroup with known bytes */
    uint64_t cgroup;
    uint64_t word, bytes;
    char *path; /* its last known path; NULL: not found yet */
    bool gone;  /* no set contains it any more; `bytes` were received by then */
    UT_hash_handle hh;
};

struct single {
    uint8_t key[NFT_KEY];
    uint64_t owner, word;
    UT_hash_handle hh;
};

struct mark { /* of this driver */
    const struct mark_config *config;
    struct nft *nft;
    struct mark_nft_wish wish;
    struct task *tasks, *received;
    struct single *singles;
    uint64_t received_ns; /* when `received` was read */
    uint32_t mode;
    uint64_t expiry_ns, lease_expiries, shared_connections;
    uint64_t shape, prints[MARK_NFT_FAMILIES]; /* of the rules that we wrote, and of the tables
                                                * after that */
};

/* What packets change: served ports, senders, receivers, received bytes; and counters. */
enum { SERVED, SENDERS4, SENDERS6, RECEIVERS4, RECEIVERS6, RECEIVED_TCP, RECEIVED_UDP, LIVELY };
#define MARK_NFT_COUNTERS (MARK_COUNT_BLEACHED + 1)

struct mark_nft_remains {
    struct nft_element *elements[LIVELY];
    uint32_t n[LIVELY];
    struct nft_counter counters[MARK_NFT_COUNTERS];
    uint32_t counters_n;
};

extern const char *const mark_nft_lively[LIVELY];

void mark_nft_remains_done(struct mark_nft_remains *remains);

/* The table that holds all state. */
const struct nft_table *mark_nft_state(const struct mark *mark);

void mark_nft_forget_tasks(struct task **tasks);
void mark_nft_forget_task(struct task **tasks, struct task *task);
void mark_nft_forget_singles(struct single **singles);
struct task *mark_nft_find_task(struct task *tasks, uint64_t cgroup);
/* Returns the task, made if it is new; NULL: no memory. */
struct task *mark_nft_make_task(struct task **tasks, uint64_t cgroup);
struct single *mark_nft_make_single(struct single **singles, const uint8_t key[NFT_KEY]);
void mark_nft_forget_single(struct single **singles, struct single *single);

/* Milliseconds; 0: it has expired. */
uint64_t mark_nft_lease_left(const struct mark *mark);

/* A file in the state folder, written before our tables are, with their name, and, once they exist,
 * hashes of what was written and what it became. */
void mark_nft_note(const struct mark_config *config, char path[FILES_PATH]);
bool mark_nft_read_note(const struct mark_config *config, char name[NFT_NAME], uint64_t *ret_shape,
                        uint64_t ret_prints[MARK_NFT_FAMILIES]);
/* Our tables' name: 1 as noted, 0 a new one. −EEXIST: another owner's table has it. */
int mark_nft_find_name(struct mark *mark, struct err *err);
/* Finds the name and notes it before there are tables; 0. */
int mark_nft_name_tables(struct mark *mark, struct err *err);

/* Takes over what an earlier agent left, if the table exists. */
int mark_nft_take_over(struct mark *mark, struct err *err);

/* Adds what mark_nft_write would make or change, without doing it. */
int mark_nft_plan(struct mark *mark, struct changes *changes, struct err *err);

/* Writes tables, rules and state, replacing what is there; unless `anyway`, tables that an earlier
 * agent wrote the same way are kept. */
int mark_nft_write(struct mark *mark, bool anyway, struct err *err);

/* Fills mark->received. */
int mark_nft_read_received(struct mark *mark, struct err *err);
/* Removes a cgroup from the sets that count its bytes. */
int mark_nft_drop_received(struct mark *mark, uint64_t cgroup, struct err *err);
int mark_nft_read_stats(struct mark *mark, struct mark_stats *stats, struct err *err);
