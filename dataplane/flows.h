/* The table of TCP connections, as the host behind us sees them (pure; bounded; all memory is
 * allocated at creation).
 *
 * Buckets of one cache line hold eight tags and places; a connection may be in either of two (two
 * choices: Azar, Broder, Karlin, Upfal, SIAM J. Comput. 29(1), 1999), so that they overflow only
 * when the table is nearly as full as its bound. The connections themselves are a cache line each.
 * If there is no room, the connection that has been silent for longest among those in the two
 * buckets is evicted, and counted if it was alive.
 *
 * find and make cost two to three cache misses, and no more of a full table. One thread. A pointer
 * to a flow is valid until the next make, remove or expire. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define FLOWS_MOST     (1u << 24)
#define FLOW_SILENT_NS 60000000000ull /* a flow expires after so much silence */
#define FLOW_UNMARKED  0xff           /* as a level */
#define FLOW_FIN_SENT  1
#define FLOW_FIN_CAME  2

struct flow_key { /* addresses of 128 bits, IPv4 as v4-mapped; ports in network order */
    uint8_t local[16], peer[16];
    uint16_t local_port, peer_port;
};

enum flow_role {
    FLOW_NONE,
    FLOW_OPENER,  /* our end opened it: the agent sets its mark */
    FLOW_ACCEPTER /* it follows what arrives */
};

struct flow {
    struct flow_key key;
    uint32_t answered_tsval; /* opener: of the first payload with that level (RFC 7323) */
    uint64_t seen_ns;        /* any packet; 0: the place is free, and its other fields are void */
    uint64_t owner;          /* the task whose `levels` count; 0: none */
    uint8_t levels[2];       /* by mode, 0…7 or FLOW_UNMARKED */
    uint8_t role;            /* enum flow_role */
    uint8_t followed;        /* accepter: the level of the last arrived packet; opener: of the last
                              * sent one */
    uint8_t fins;            /* FLOW_FIN_… */
    bool answered;           /* opener: payload with that level has come */
} __attribute__((aligned(64)));

struct flows_counters {
    uint64_t made, ended;
    uint64_t kept;      /* by flows_create_in */
    uint64_t evictions; /* of live ones */
};

struct flows;

/* 1…FLOWS_MOST flows; 64 bytes each, and 20 to 36 more. −ENOMEM. */
int flows_create(uint32_t most, struct flows **ret_flows, struct err *err);
/* In `most` places that the caller lends until destroy, aligned to cache lines: zeroed, or left
 * there by another table, even one whose process was killed at any instruction. Keeps the flows
 * that were alive there. */
int flows_create_in(struct flow *places, uint32_t most, uint64_t now_ns, struct flows **ret_flows,
                    struct err *err);
void flows_destroy(struct flows *flows); /* takes NULL */

/* The hash for the other calls: equal for both directions of a connection. */
uint64_t flows_hash(const struct flow_key *key);
/* Prefetch the memory that find will read: first the bucket, then, once that has come, the most
 * likely flow, or the other bucket. */
void flows_prefetch(const struct flows *flows, uint64_t hash);
void flows_prefetch_flow(const struct flows *flows, uint64_t hash);

/* NULL: there is none. */
struct flow *flows_find(struct flows *flows, const struct flow_key *key, uint64_t hash);
/* Makes a new one, seen now, without role, owner and levels, replacing the one with this key if
 * there is one. `now_ns` > 0. */
struct flow *flows_make(struct flows *flows, const struct flow_key *key, uint64_t hash,
                        uint64_t now_ns);
void flows_remove(struct flows *flows, struct flow *flow);

/* Checks the next `most` places, in turn, and removes expired flows. */
void flows_expire(struct flows *flows, uint64_t now_ns, uint32_t most);

uint32_t flows_alive(const struct flows *flows);
const struct flows_counters *flows_counters(const struct flows *flows);

/* Signed: a reading of another clock may be older than the last packet's. */
static inline bool flow_is_recent(const struct flow *flow, uint64_t now_ns)
{
    return (int64_t)(now_ns - flow->seen_ns) <= (int64_t)FLOW_SILENT_NS;
}
