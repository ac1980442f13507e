/* Marks for connections that bypass the kernel: applications that send frames through a data plane
 * in user space (duopoly-fastpath, role host). There is no cgroup and no socket, so a task has to
 * report its connections (schemas/task.md, "connection"). Each is sent to the data plane with its
 * task's levels, and again whenever these change. Mode and lease are sent, too.
 *
 * Everything is kept here and sent when the event loop is reached, in as few messages as possible;
 * while the data plane is away it is kept, and all of it is sent when it is back. A data plane that
 * hangs is waited for MARK_FASTPATH_WAIT_MS, then not asked for FASTPATH_LINK_PAUSE_MS
 * (fastpath_link.h).
 *
 * A connection that two tasks report belongs to the last one. It is forgotten with its task. Bytes
 * received over it are not counted for the task. O(log n), levels O(connections of the task). One
 * thread. */
#pragma once

#include "hostagent/marks/mark.h"
#include "lib/err.h"

#include <stdint.h>
#include <systemd/sd-event.h>

#define MARK_FASTPATH_CONNECTIONS 65536 /* at once; more are refused and logged */
#define MARK_FASTPATH_WAIT_MS     100

struct mark_fastpath;

struct mark_fastpath_config {
    const char *path;
    uint32_t mode;                                   /* now */
    void (*on_notice)(void *user, const char *text); /* called with a sentence when it is away, with
                                                      * "" when it is back */
    void *user;
};

/* The data plane need not be there yet. */
int mark_fastpath_open(const struct mark_fastpath_config *config, sd_event *event,
                       struct mark_fastpath **ret_fastpath, struct err *err);
void mark_fastpath_close(
    struct mark_fastpath *fastpath); /* its marks stay; all functions take NULL */

/* Levels of a task's connections, known or reported later. */
void mark_fastpath_levels(struct mark_fastpath *fastpath, const struct mark_task_levels *levels);
/* The connection is the task's. Nothing happens for a task without levels. */
void mark_fastpath_connection(struct mark_fastpath *fastpath, uint64_t cgroup,
                              const struct mark_flow_key *key);
/* The task's connections become unmarked. */
void mark_fastpath_end(struct mark_fastpath *fastpath, uint64_t cgroup);
void mark_fastpath_mode(struct mark_fastpath *fastpath, uint32_t mode);
/* Marks are valid for this long from now; 0 ends them. */
void mark_fastpath_renew(struct mark_fastpath *fastpath, uint64_t lease_ns);
