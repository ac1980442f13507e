/* Mark drivers: how a level gets into the DSCP of a task's packets, and how they find their queue.
 *
 * A driver is a const table of functions; mark_all lists them, and one test holds every entry to
 * this contract. The driver knows cgroups, flows, levels, one mode and one lease; which level a
 * task has is the controller's affair.
 *
 * A task's packets carry its level for the mode in force, as DSCP dscp_of_level[level], on
 * connections that it opened; connections that it accepted carry what arrives. A connection's first
 * packet in each direction carries level 0's, and segments without content wait in level 0's queue:
 * neither is delayed by anybody's content. Content that a promotion's new mark has overtaken on its
 * way is dropped where it arrives (mark.bpf.c says why). Only the six DSCP bits change; what leaves
 * the member prefixes carries none of the eight code points; loopback is neither marked nor
 * counted. A mode switch is one write, whatever the number of flows. After `lease_ns` without
 * renewal packets go out as without us, by the data path itself.
 *
 * State (levels, mode, lease, flows, counters) outlives close and a killed agent; open takes it
 * over without a gap. `remove` ends it and leaves the ports and the cgroup as they were. Except
 * open and remove no call blocks for longer than a system call on a map; stats walks the flows (0.3
 * ms for 10 000). One thread. */
#pragma once

#include "hostagent/marks/mark_abi.h"
#include "hostagent/queues/queues.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define MARK_MEMBERS 64
#define MARK_TASKS   4096 /* with levels at once */

struct mark_prefix {
    uint8_t address[16]; /* IPv4 as v4-mapped */
    uint32_t bits;       /* of the 128 */
};

struct mark_config {
    bool is_switch;        /* ports of a switch: classify what is forwarded, mark nothing */
    const char *bpffs;     /* directory of this agent instance's pinned maps; mounted by open */
    const char *state_dir; /* exists: small files that say what `remove` takes away */
    const char *cgroup;    /* path of the subtree whose sockets are counted; not for switches */
    const char (*ports)[PORT_NAME];
    uint32_t ports_n;
    struct mark_prefix members[MARK_MEMBERS];
    uint32_t members_n; /* 0: everybody is one */
    uint8_t dscp_of_level[MARK_LEVELS];
    uint16_t control_port;           /* host order; 0: no control traffic here */
    uint32_t class_of[PORT_TRAFFIC]; /* skb->priority that selects each kind's queue (qdisc.h); all
                                        0: no queues of ours, classes are left alone */
    uint32_t flows_max; /* entries of the flow table, which forgets the least recently used */
};

struct mark_task_levels {
    uint64_t cgroup;           /* cgroup2 id: the inode of its directory */
    uint8_t coflow, macroflow; /* 0…7 or MARK_UNMARKED */
};

/* Levels of one connection that this end opened, where several tasks share a cgroup (executors). */
struct mark_flow_levels {
    struct mark_flow_key key;
    uint64_t owner; /* the task, ≠ 0; 0 takes the levels away again */
    uint8_t coflow, macroflow;
};

struct mark_stats {
    uint64_t marked_bytes[MARK_LEVELS];
    uint64_t unmarked_bytes, control_bytes;
    uint64_t bleached_packets;
    uint64_t flows;          /* alive now, both roles */
    uint64_t followed_flows; /* of these: accepted here, with a mark */
    uint64_t evictions;      /* alive entries that the table's bound pushed out */
    uint64_t
        shared_connections; /* times that a task's mark took another task's place on a connection */
    uint64_t lease_expiries;     /* times that a renewal came too late */
    uint32_t senders, receivers; /* flows with payload out, and in, within the last second */
};

struct mark; /* a driver's own state */

struct mark_driver {
    const char *name;
    int (*open)(const struct mark_config *config, struct mark **ret_mark, struct err *err);
    void (*close)(struct mark *mark); /* everything goes on; takes NULL */
    /* What an instance with this configuration left, whether or not it runs; nothing there is fine.
     */
    int (*remove)(const struct mark_config *config, struct err *err);

    /* New or known cgroups. −E2BIG: MARK_TASKS are there. */
    int (*tasks_set)(struct mark *mark, const struct mark_task_levels *levels, uint32_t n,
                     struct err *err);
    /* The task ended: what its sockets still send is unmarked. The bytes stay readable. */
    int (*task_end)(struct mark *mark, uint64_t cgroup, struct err *err);
    int (*task_forget)(struct mark *mark, uint64_t cgroup, struct err *err);
    /* The last mark wins; another task's place is counted. */
    int (*flows_set)(struct mark *mark, const struct mark_flow_levels *levels, uint32_t n,
                     struct err *err);
    int (*mode_set)(struct mark *mark, uint32_t mode, struct err *err); /* 0 or 1 */
    int (*mode_get)(struct mark *mark, uint32_t *ret_mode, struct err *err);
    /* Marks are valid for so long from now; 0 ends them now. */
    int (*lease_renew)(struct mark *mark, uint64_t lease_ns, struct err *err);
    /* Payload bytes that the cgroup's sockets received over the network; 0 for an unknown one. */
    int (*received)(struct mark *mark, uint64_t cgroup, uint64_t *ret_bytes, struct err *err);
    /* Also drops entries that have been silent for too long: to be called every few seconds. */
    int (*stats)(struct mark *mark, struct mark_stats *ret_stats, struct err *err);
};

extern const struct mark_driver mark_ebpf;     /* clsact programs and pinned maps (Linux ≥ 5.8) */
extern const struct mark_driver mark_recorder; /* remembers what it was told, for tests */
extern const struct mark_driver *const mark_all[]; /* ends with NULL */

const struct mark_driver *mark_find(const char *name);

/* What packets of a port get: fills the constant part from a configuration (pure). */
void mark_settings_of(const struct mark_config *config, struct mark_settings *ret_settings);

/* "10.0.0.0/8", "fd00::/16", a bare address: a prefix of v4-mapped addresses. −EINVAL with a
 * sentence. */
int mark_prefix_parse(const char *text, struct mark_prefix *ret_prefix, struct err *err);

/* The recorder's transcript since open, borrowed until the next call on `mark`. */
const char *mark_recorder_text(const struct mark *mark);
