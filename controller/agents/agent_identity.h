/* An agent's identity: its name, index and description, and what the engine was told of its host. A
 * part of its record (agent.h): only agent_identity.c and agent_index.c change it; other files use
 * the functions here. */
#pragma once

#include "controller/agents/agents.h"

#include <uthash.h>

struct agent;

struct agent_identity {
    UT_hash_handle by_name, by_address;
    char name[64], rack[32], labels[ENGINE_LABELS_MAX];
    uint8_t address[16];
    bool addressed; /* found by its address */
    bool is_switch;
    bool unmarked; /* a host without an agent: agent_unmarked.c */
    uint32_t host; /* ENGINE_NONE: a switch */
    uint64_t boot, hello_sequence;
    uint64_t newest_job; /* when its name was added */
    uint64_t units[AGENT_UNITS_MAX * ENGINE_RESOURCES];
    uint32_t n_units;
    char unit_names[AGENT_UNITS_MAX *
                    ENGINE_UNIT_NAME_MAX]; /* separated by commas; "": none has one */
    uint64_t uplink_bps, downlink_bps, rack_bps, disk_bytes_s;
    uint32_t asks; /* what it answers, as its HELLO said */
    char cut[96];  /* what it claims beyond a unit's bounds; "" */
    /* What the engine knows. */
    bool joined, silent, lost;
    int64_t lost_ns; /* since when; 0: since before this controller started */
    uint64_t joined_boot;
    bool changed; /* its description differs from what the engine was told */
};

/* Of all agents. */
struct agents_table {
    struct agent *names, *addresses;             /* hashes */
    struct agent **order;                        /* all, in the natural order of names */
    struct agent **hosts;                        /* by index */
    uint32_t *host_order;                        /* indexes, in the natural order of names */
    uint32_t n, n_hosts, n_switches, n_unmarked; /* n_hosts: with agents */
};

/* The index of a forgotten host: jobs with after < number ≤ until may refer to it. */
struct resting_index {
    uint32_t host;
    uint64_t after, until;
};

struct agents_indexes {
    uint32_t n; /* given out so far: in use, free and resting */
    uint32_t *free, n_free;
    struct resting_index *resting; /* a ring, in order of forgetting */
    uint32_t first_resting, n_resting;
};

/* 0 or −ENOMEM; done also frees what a failure left. */
int agents_table_begin(struct agents_table *table, uint32_t hosts_max);
void agents_table_done(struct agents_table *table);
int agents_indexes_begin(struct agents_indexes *indexes, uint32_t hosts_max);
void agents_indexes_done(struct agents_indexes *indexes);

/* A record is for a host's agent, a switch's agent, or a host without an agent. */
enum agent_is { AGENT_IS_HOST, AGENT_IS_SWITCH, AGENT_IS_NONE };
void agent_identity_begin(struct agent *agent, const char *name, enum agent_is is);
/* Restores it from before a restart; sets its own description. */
void agent_identity_restore(struct agent *agent, const struct agent_kept *kept);
void agent_describe(struct agent *agent, const duopoly_Hello *hello);

/* To read. */
const struct agent_identity *agent_who(const struct agent *agent);
/* Whether one more of this kind may be added. */
bool agents_room_for(const struct agents *agents, enum agent_is is);
/* The host with this index; the agent at this place in the order of names; NULL: none. */
struct agent *agent_of_index(const struct agents *agents, uint32_t host);
struct agent *agent_at(const struct agents *agents, uint32_t place);
struct agent *agent_find(const struct agents *agents, const char *name);
/* The host whose outputs are served at this address; NULL: none. */
struct agent *agent_at_address(const struct agents *agents, const uint8_t *address);
/* Gives the agent this address and takes it from any other; all zeros: none. */
void agent_set_address(struct agent *agent, const uint8_t *address);

/* Adds a new one to the tables, with an index if it is a host. */
void agent_enter(struct agent *agent);
/* Adds to and removes from the tables; `host`: its index, ENGINE_NONE for a switch. */
void agent_table_insert(struct agents *agents, struct agent *agent, uint32_t host);
void agent_table_remove(struct agent *agent);
/* A host without an agent now has one, and is treated as if it never joined. */
void agent_marked(struct agent *agent);
/* Passes a fact about the host to the engine; or HOST_JOIN, CHANGE or BACK, whichever is due. */
void agent_tell_host(struct agent *agent, enum event_kind kind);
void agent_tell_join(struct agent *agent);
/* Its host is lost from now on. */
void agent_tell_lost(struct agent *agent, int64_t now_ns);

/* agent_index.c: whether an index is left; takes one; puts a forgotten host's index to rest. */
bool agent_index_left(const struct agents *agents);
uint32_t agent_index_take(struct agents *agents);
void agent_index_rest(struct agents *agents, const struct resting_index *index);
/* The forgotten host with this index; NULL: none. */
const struct resting_index *agent_index_resting(const struct agents *agents, uint32_t host);
/* Marks an index as in use before a restart; false: it is out of order or out of bounds. */
bool agent_index_restore(struct agents *agents, uint32_t host);
