/* Mark drivers: they write a level into the DSCP of a task's packets and give the packets their
 * queue.
 *
 * A driver is a const table of functions; mark_all lists them, and one test holds every entry to
 * this contract. Only hostagent/marks/marks.c calls it (tests/lint/includes). The driver knows
 * cgroups, flows, levels, one mode and one lease; the controller decides which level a task has.
 *
 * A task's packets carry its level for the mode in force, as DSCP dscp_of_level[level], on
 * connections that it opened; connections that it accepted carry what arrives. A connection's first
 * packet in each direction carries level 0's, and segments without payload wait in level 0's queue,
 * so payload delays neither. With eBPF, payload that a promotion's new mark has overtaken on its
 * way is dropped on arrival (mark.bpf.c says why). Only the six DSCP bits change; packets that
 * leave the member prefixes carry none of the eight code points; loopback is neither marked nor
 * counted. A mode switch is one write, whatever the number of flows. After `lease_ns` without
 * renewal the data path itself sends packets as it would without us.
 *
 * State (levels, mode, lease, flows, counters) outlives close and a killed agent; open takes it
 * over without a gap. `remove` ends it and restores the ports and the cgroup. Except for open and
 * remove, no call blocks for longer than a system call on a map, or a small transaction
 * (mark_nft.c); stats walks the flows (0.3 ms for 10 000). One thread. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/mark.h"

#include <stddef.h>

struct mark; /* a driver's own state */

struct mark_driver {
    const char *name;
    bool automatic;   /* "auto" may choose it */
    bool nudges;      /* it knows connections well enough for nudge.h */
    uint32_t told_by; /* group of NETLINK_NETFILTER that reports changes to it; 0: none */
    bool (*changes_untold)(void); /* whether others may change it without a report; NULL: never */
    /* Borrows the configuration until close. */
    int (*open)(const struct mark_config *config, struct mark **ret_mark, struct err *err);
    void (*close)(struct mark *mark); /* marks stay in force; takes NULL */
    /* Removes what an instance with this configuration left, whether it runs or not; nothing left
     * is fine. */
    int (*remove)(const struct mark_config *config, struct err *err);

    /* Adds what `open` would make, change and remove, without doing it; nothing after `open`. Fails
     * as `open` would, with the same sentence. */
    int (*plan)(const struct mark_config *config, struct changes *changes, struct err *err);
    /* Adds what `remove` would remove; nothing after it. */
    int (*plan_remove)(const struct mark_config *config, struct changes *changes, struct err *err);

    /* From now on. NOTHING ends the lease first, which is one write, and then leaves the ports;
     * what the driver is told goes on to be kept. */
    int (*reach_set)(struct mark *mark, enum mark_reach reach, struct err *err);
    /* Another port is ours, or one is not any more (it may be gone). The configuration's list is
     * changed already. */
    int (*port_set)(struct mark *mark, const char *port, bool ours, struct err *err);
    /* 1, with a sentence in `what`, when another owner has removed our programs from this port;
     * else 0. */
    int (*compare)(struct mark *mark, const char *port, char *what, size_t size, struct err *err);
    /* What stands at the configuration's cgroup now is another one: its sockets are counted,
     * too. */
    int (*cgroup_made)(struct mark *mark, struct err *err);
    /* Counts a cgroup outside of it while the descriptor is open. −EOPNOTSUPP: it cannot. */
    int (*count_other)(struct mark *mark, const char *cgroup, int *ret_fd, struct err *err);
    /* A new cgroup or a known one. −E2BIG: MARK_TASKS are there. */
    int (*task_set)(struct mark *mark, const struct mark_task_levels *levels, struct err *err);
    /* The task ended: what its sockets still send is unmarked. The bytes stay readable. */
    int (*task_end)(struct mark *mark, uint64_t cgroup, struct err *err);
    int (*task_forget)(struct mark *mark, uint64_t cgroup, struct err *err);
    /* The last mark wins; another task's place is counted. */
    int (*flows_set)(struct mark *mark, const struct mark_flow_levels *levels, uint32_t n,
                     struct err *err);
    int (*mode_set)(struct mark *mark, uint32_t mode, struct err *err); /* 0 or 1 */
    int (*mode_get)(struct mark *mark, uint32_t *ret_mode, struct err *err);
    /* Marks are valid for this long from now; 0 ends them now. */
    int (*lease_renew)(struct mark *mark, uint64_t lease_ns, struct err *err);
    /* Payload bytes that the cgroup's sockets received over the network; 0 for an unknown one. */
    int (*received)(struct mark *mark, uint64_t cgroup, uint64_t *ret_bytes, struct err *err);
    /* Packets that its programs on an interface have counted: probes that left, and what arrived
     * besides TCP. NULL: it counts none. Entries begin with the first call, at 0. */
    int (*probed)(struct mark *mark, int ifindex, struct mark_probe *ret_probe, struct err *err);
    /* Connections from *cursor on (0: the first), at most `most` of them, in an order of
     * the kernel's own; *cursor: where to go on, 0: these were the last. One that is
     * there all the time is given once. NULL: it knows none. O(`most`). */
    int (*connections)(struct mark *mark, uint64_t *cursor, struct mark_connection *ret,
                       uint32_t most, uint32_t *ret_n, struct err *err);
    /* Also drops entries that have been silent for too long: to be called every few seconds. */
    int (*stats)(struct mark *mark, struct mark_stats *ret_stats, struct err *err);
};

extern const struct mark_driver mark_ebpf;     /* programs on ports, pinned maps (Linux ≥ 5.8) */
extern const struct mark_driver mark_nftables; /* without BPF: mark_nft.c */
extern const struct mark_driver mark_recorder; /* remembers its calls, for tests */
extern const struct mark_driver *const mark_all[]; /* the better ones first; ends with NULL */

const struct mark_driver *mark_find(const char *name);

/* The recorder's calls since open, borrowed until the next call on `mark`. */
const char *mark_recorder_text(const struct mark *mark);
