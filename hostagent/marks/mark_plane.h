/* Marks of connections that no kernel sees: of applications beyond it, whose frames reach the network
 * through a data plane in user space (duopoly-fastpath, role host). No cgroup and no socket is seen
 * there, so that a task has to say its connections (schemas/task.md, "connection"); each is told to the
 * data plane with its task's levels, and again whenever these change. Mode and lease are told, too.
 *
 * Everything is kept here and told once the event loop is reached, in as few messages as it fits; while
 * the data plane is away it is kept, and all of it told when it is back. One that hangs is waited for
 * MARK_PLANE_WAIT_MS, then left alone for PLANE_PAUSE_MS (plane_link.h).
 *
 * A connection that two tasks say belongs to the one that said it last. It is forgotten with its task.
 * Bytes that are received there are not counted for a task. O(log n), levels O(connections of the
 * task). One thread. */
#pragma once

#include "hostagent/marks/mark.h"
#include "lib/err.h"

#include <stdint.h>
#include <systemd/sd-event.h>

#define MARK_PLANE_CONNECTIONS 65536 /* at once; more are refused, with a word in the log */
#define MARK_PLANE_WAIT_MS     100

struct mark_plane;

struct mark_plane_config {
    const char *path;
    uint32_t mode;                                   /* now */
    void (*on_notice)(void *user, const char *text); /* that it is away; "": it is here again */
    void *user;
};

/* It need not be there yet. */
int mark_plane_open(const struct mark_plane_config *config, sd_event *event,
                    struct mark_plane **ret_plane, struct err *err);
void mark_plane_close(
    struct mark_plane *plane); /* its marks go on; takes NULL, as all the others */

/* Levels of a task's connections, known or said later. */
void mark_plane_levels(struct mark_plane *plane, const struct mark_task_levels *levels);
/* This one is the task's. Nothing happens for a task without levels. */
void mark_plane_connection(struct mark_plane *plane, uint64_t cgroup,
                           const struct mark_flow_key *key);
/* Its connections are unmarked. */
void mark_plane_end(struct mark_plane *plane, uint64_t cgroup);
void mark_plane_mode(struct mark_plane *plane, uint32_t mode);
/* Valid for so long from now; 0 ends them. */
void mark_plane_renew(struct mark_plane *plane, uint64_t lease_ns);
