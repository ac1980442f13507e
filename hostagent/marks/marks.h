/* The marks of this host or switch, for the rest of the agent: levels, mode, lease, and the nudge
 * after a promotion.
 *
 * It owns the driver's instance (mark_driver.h says what marks do on the wire, and what of them
 * outlives close) and the nudge (nudge.h), so that every promotion reaches the task's senders: each
 * call that changes levels or mode informs the nudge after the driver has accepted it.
 *
 * Except for open and remove, calls block for no longer than a system call on a map for each task
 * that they name, marks_stats for a walk over the flows (0.3 ms for 10 000); the nudge works later,
 * in the event loop. Errors are −errno with a sentence. One thread. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/mark.h"
#include "hostagent/marks/mark_fastpath.h"
#include "hostagent/marks/nudge.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct marks;

#define MARKS_SAYS 128

bool marks_has_driver(const char *name); /* "auto" is one */

/* Promoted senders are nudged, with a part of the link's rate. */
struct marks_nudging {
    sd_event *event;
    uint64_t link_bps;
};

/* `config` is borrowed until close. `nudging` NULL: no nudges. There are also none with a driver
 * that knows no connections, or if the kernel cannot list sockets: that is logged, and marks work
 * without. */
/* What another driver left is removed once this one is in place. */
int marks_open(const struct mark_config *config, const struct marks_nudging *nudging,
               struct marks **ret_marks, struct err *err);
void marks_close(struct marks *marks); /* the marks go on; takes NULL */

/* From now on everything is also sent to this data plane, which is borrowed until close. */
void marks_join(struct marks *marks, struct mark_fastpath *fastpath);

/* Which driver it is and, after "auto", why no better one; borrowed until close. */
const char *marks_says(const struct marks *marks);

/* Whether the driver knows connections: if not, it does not mark payload in tunnels that hide
 * them. */
bool marks_know_connections(const struct marks *marks);

/* The group of NETLINK_NETFILTER that reports changes for marks_compare to check; 0: none. */
uint32_t marks_told_by(const struct marks *marks);

/* Whether others can change what marks_compare checks without a report by the kernel. */
bool marks_change_untold(const struct marks *marks);

/* Removes what an instance with this configuration left, whether it runs or not; nothing there is
 * fine. */
int marks_remove(const struct mark_config *config, struct err *err);

/* What marks_open would change on this host; changes nothing. */
int marks_plan(const struct mark_config *config, struct changes *changes, struct err *err);

/* Sets how far marks reach from now on. With MARK_REACH_NOTHING no lease is renewed and no sender
 * is nudged; changes are kept, and apply when marks reach further again. */
int marks_reach(struct marks *marks, enum mark_reach reach, struct err *err);

/* Adds or removes a port (it may be gone); `config` has been changed already. */
int marks_port(struct marks *marks, const char *port, bool ours, struct err *err);

/* 1, with a sentence in `what`, if another owner has removed our programs from this port; else
 * 0. */
int marks_compare(struct marks *marks, const char *port, char *what, size_t size, struct err *err);

/* The agent's cgroup was made again: its sockets are counted from now on. */
int marks_count_cgroup(struct marks *marks, struct err *err);

/* New or known cgroups. −E2BIG: MARK_TASKS exist. Those before a failure have their levels. */
int marks_set_levels(struct marks *marks, const struct mark_task_levels *levels, uint32_t n,
                     struct err *err);
/* The last mark wins; replacing another task's mark is counted. Single connections are not
 * nudged. */
int marks_set_flows(struct marks *marks, const struct mark_flow_levels *levels, uint32_t n,
                    struct err *err);
/* A task reports a connection of its own, which may bypass the kernel: for the data plane. */
void marks_connection(struct marks *marks, uint64_t cgroup, const struct mark_flow_key *key);
/* The task ended: what its sockets still send is unmarked. Its byte count stays readable. */
int marks_end_task(struct marks *marks, uint64_t cgroup, struct err *err);
int marks_forget_task(struct marks *marks, uint64_t cgroup, struct err *err);

/* Counts also the payload received by the sockets of a cgroup outside of the agent's own, as long
 * as the caller keeps *ret_fd open. The cgroup needs levels first (marks_set_levels). −EOPNOTSUPP:
 * this driver counts only the agent's own. */
int marks_count_other(struct marks *marks, const char *cgroup, int *ret_fd, struct err *err);

int marks_set_mode(struct marks *marks, uint32_t mode, struct err *err); /* 0 or 1 */
int marks_get_mode(struct marks *marks, uint32_t *ret_mode, struct err *err);

/* Marks are valid for this long from now; 0 ends them now. Nothing happens while marks reach
 * nothing. */
int marks_renew(struct marks *marks, uint64_t lease_ns, struct err *err);

/* Payload bytes that the cgroup's sockets received over the network; 0 for an unknown cgroup. */
int marks_received(struct marks *marks, uint64_t cgroup, uint64_t *ret_bytes, struct err *err);

bool marks_count_probes(const struct marks *marks); /* else the next is −EOPNOTSUPP */
/* Packets that our programs on an interface have counted since the first call: those of priority
 * MARK_PROBE that left, and those besides TCP that arrived. −EOPNOTSUPP: this driver counts none;
 * −EAGAIN: marks reach nothing now. */
int marks_probed(struct marks *marks, int ifindex, struct mark_probe *ret_probe, struct err *err);

/* Connections from *cursor on (0: the first), at most `most`; *cursor: where to go on, 0: these
 * were the last. The number may be 0 before the last. −EOPNOTSUPP: this driver knows none. */
int marks_connections(struct marks *marks, uint64_t *cursor, struct mark_connection *ret,
                      uint32_t most, uint32_t *ret_n, struct err *err);

/* Also drops entries that have been silent for too long: call it every few seconds. */
int marks_stats(struct marks *marks, struct mark_stats *ret_stats, struct err *err);
void marks_count_nudges(const struct marks *marks, struct nudge_counters *ret_counters);
