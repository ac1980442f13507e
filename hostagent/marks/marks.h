/* The marks of this host or switch, for everybody else in the agent: levels, mode, lease and the
 * nudge that follows a promotion, together.
 *
 * It owns the driver's instance (mark_driver.h says what marks do on the wire, and what of them
 * outlives close) and the nudge (nudge.h), so that whatever makes a task more urgent reaches its
 * senders, whoever asked for it: each call that changes levels or mode tells the nudge once the
 * driver has it, and nothing that the driver did not take.
 *
 * Calls but open and remove block for no longer than a system call on a map for each task that they
 * name, marks_stats for a walk over the flows (0.3 ms for 10 000); the nudge works later, in the
 * event loop. Errors are −errno with a sentence. One thread. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/mark.h"
#include "hostagent/marks/mark_plane.h"
#include "hostagent/marks/nudge.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct marks;

#define MARKS_SAYS 128

bool marks_has_driver(const char *name); /* "auto" is one */

/* Promoted senders are nudged, with a part of the link. */
struct marks_nudging {
    sd_event *event;
    uint64_t link_bps;
};

/* `config` is borrowed until close. `nudging` NULL: nobody is nudged. Nor are they by a driver that
 * knows no connections, or where the kernel cannot list sockets: that is logged, and no reason to do
 * without marks. */
/* What another driver left is removed when this one stands. */
int marks_open(const struct mark_config *config, const struct marks_nudging *nudging,
               struct marks **ret_marks, struct err *err);
void marks_close(struct marks *marks); /* the marks go on; takes NULL */

/* What is told from now on is told to this data plane, too, which is borrowed until close. */
void marks_join(struct marks *marks, struct mark_plane *plane);

/* Which driver it is and, after "auto", why no better one: until close. */
const char *marks_says(const struct marks *marks);

/* Whether the driver knows connections: else it marks no data inside what hides them. */
bool marks_know_connections(const struct marks *marks);

/* The group of NETLINK_NETFILTER that tells of changes which marks_compare is to look at; 0: none. */
uint32_t marks_told_by(const struct marks *marks);

/* Whether others can change what marks_compare looks at, and no kernel tells. */
bool marks_change_untold(const struct marks *marks);

/* What an instance with this configuration left, whether or not it runs; nothing there is fine. */
int marks_remove(const struct mark_config *config, struct err *err);

/* What marks_open would change on this host; changes nothing. */
int marks_plan(const struct mark_config *config, struct changes *changes, struct err *err);

/* How far they reach from now on. With MARK_REACH_NOTHING no lease is renewed and nobody nudged:
 * what is told meanwhile is kept, and counts when they reach further again. */
int marks_reach(struct marks *marks, enum mark_reach reach, struct err *err);

/* Another port is ours, or one is not any more (it may be gone); `config` has it so already. */
int marks_port(struct marks *marks, const char *port, bool ours, struct err *err);

/* 1, with a sentence in `what`, when somebody else has taken our programs off this port; else 0. */
int marks_compare(struct marks *marks, const char *port, char *what, size_t size, struct err *err);

/* The agent's cgroup has been made anew: its sockets are counted from now on. */
int marks_count_cgroup(struct marks *marks, struct err *err);

/* New or known cgroups. −E2BIG: MARK_TASKS are there. Those before a failure have their levels. */
int marks_set_levels(struct marks *marks, const struct mark_task_levels *levels, uint32_t n,
                     struct err *err);
/* The last mark wins; another task's place is counted. Single connections are not nudged. */
int marks_set_flows(struct marks *marks, const struct mark_flow_levels *levels, uint32_t n,
                    struct err *err);
/* A task says that this connection, which perhaps no kernel sees, is its own: for the data plane. */
void marks_connection(struct marks *marks, uint64_t cgroup, const struct mark_flow_key *key);
/* The task ended: what its sockets still send is unmarked. The bytes stay readable. */
int marks_end_task(struct marks *marks, uint64_t cgroup, struct err *err);
int marks_forget_task(struct marks *marks, uint64_t cgroup, struct err *err);

/* The payload that the sockets of a cgroup outside of the agent's own receive is counted, too, while
 * *ret_fd is open, which is the caller's: at its end the kernel stops. The cgroup needs levels to be
 * known (marks_set_levels). −EOPNOTSUPP: this driver knows only the agent's own. */
int marks_count_other(struct marks *marks, const char *cgroup, int *ret_fd, struct err *err);

int marks_set_mode(struct marks *marks, uint32_t mode, struct err *err); /* 0 or 1 */
int marks_get_mode(struct marks *marks, uint32_t *ret_mode, struct err *err);

/* Marks are valid for so long from now; 0 ends them now. Nothing happens while they reach nothing. */
int marks_renew(struct marks *marks, uint64_t lease_ns, struct err *err);

/* Payload bytes that the cgroup's sockets received over the network; 0 for an unknown one. */
int marks_received(struct marks *marks, uint64_t cgroup, uint64_t *ret_bytes, struct err *err);

bool marks_count_probes(const struct marks *marks); /* else the next is −EOPNOTSUPP */
/* Packets that our programs on an interface have counted since the first call: those of priority
 * MARK_PROBE that left, and what arrived besides TCP. −EOPNOTSUPP: this driver counts none; −EAGAIN:
 * they reach nothing now. */
int marks_probed(struct marks *marks, int ifindex, struct mark_probe *ret_probe, struct err *err);

/* Also drops entries that have been silent for too long: to be called every few seconds. */
int marks_stats(struct marks *marks, struct mark_stats *ret_stats, struct err *err);
void marks_count_nudges(const struct marks *marks, struct nudge_counters *ret_counters);
