/* Settings, levels and counters of marks, which the drivers (mark_driver.h), the nudge (nudge.h)
 * and the agent's one instance (marks.h) share. */
#pragma once

#include "hostagent/marks/mark_abi.h"
#include "hostagent/queues/queues.h"
#include "lib/err.h"
#include "lib/mark_prefix.h"

#include <stdbool.h>
#include <stdint.h>

#define MARK_MEMBERS 64
#define MARK_TASKS   4096 /* with levels at once */

/* How far marks reach: nothing on any port; DSCP alone; DSCP and the packets' queues. */
enum mark_reach { MARK_REACH_NOTHING, MARK_REACH_PACKETS, MARK_REACH_QUEUES };

struct mark_config {
    const char *driver;    /* a name that marks_has_driver knows; "auto": the best that opens */
    enum mark_reach reach; /* from the beginning */
    bool is_switch;        /* ports of a switch: classify what is forwarded, mark nothing */
    const char *bpffs;     /* directory of this agent instance's pinned maps; mounted by open */
    const char *state_dir; /* exists: small files that say what `remove` must undo */
    const char *cgroup;    /* path of the subtree whose sockets are counted; not for switches */
    const char (*ports)[PORT_NAME];
    uint32_t ports_n;
    const char (*tunnels)[PORT_NAME]; /* over these ports: the packets inside are marked */
    uint32_t tunnels_n;
    struct mark_prefix members[MARK_MEMBERS];
    uint32_t members_n; /* 0: every address is a member */
    uint8_t dscp_of_level[MARK_LEVELS];
    uint16_t control_port;           /* host order; 0: no control traffic here */
    uint32_t class_of[PORT_TRAFFIC]; /* skb->priority that selects each kind's queue (qdisc.h); all
                                        0: no queues of ours, classes are left alone */
    uint32_t flows_max; /* entries of the flow table; the least recently used is evicted */
};

/* Ports, then tunnels. */
static inline uint32_t mark_ports(const struct mark_config *config)
{
    return config->ports_n + config->tunnels_n;
}
static inline const char *mark_port(const struct mark_config *config, uint32_t i)
{
    return i < config->ports_n ? config->ports[i] : config->tunnels[i - config->ports_n];
}

struct mark_task_levels {
    uint64_t cgroup;           /* cgroup2 id: the inode of its directory */
    uint8_t coflow, macroflow; /* 0…7 or MARK_UNMARKED */
};

/* Levels of one connection that this end opened, for tasks that share a cgroup (executors). */
struct mark_flow_levels {
    struct mark_flow_key key;
    uint64_t owner; /* the task, ≠ 0; 0 removes the levels */
    uint8_t coflow, macroflow;
};

/* A live connection to a member, as the marking programs know it. */
struct mark_connection {
    struct mark_flow_key key;
    struct mark_flow flow;
};

struct mark_stats {
    uint64_t marked_bytes[MARK_LEVELS];
    uint64_t unmarked_bytes, control_bytes;
    uint64_t bleached_packets, overtaken_packets; /* the second with eBPF only */
    uint64_t flows;                               /* active now, both roles */
    uint64_t followed_flows;                      /* of these: accepted here, with a mark */
    uint64_t evictions;          /* active entries that were evicted because the table was full */
    uint64_t shared_connections; /* times that one task's mark replaced another's on a connection */
    uint64_t lease_expiries;     /* times that a renewal came too late */
    uint32_t senders, receivers; /* flows that sent, and received, payload within the last second */
};

/* Fills the constant part, which describes what a port's packets get, from a configuration
 * (pure). */
void mark_settings_of(const struct mark_config *config, struct mark_settings *ret_settings);
