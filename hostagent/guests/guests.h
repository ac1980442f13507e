/* Guests: executors of frameworks that this agent did not start (an unmodified Spark's).
 *
 * They are found by their command lines (executor_line.h): when the kernel reports that a process
 * executed a program (process_events_nl.h), and by scans of /proc: every `rescan_ns` if the kernel
 * reports nothing, else every GUESTS_RESCAN_NS. A guest is identified by its process number and
 * start time, and held by a descriptor of the process, so no other process is ever taken for it. It
 * is never killed or stopped.
 *
 * A guest's rung is the lower of two: the configuration's, and what its own situation allows;
 * guests_tell reports it with the reason.
 *
 *   observe   nothing of it is changed. Bytes are counted if its cgroup is its own; if it shares
 *             one, they are read from its sockets every two seconds (tcp_received_nl.h): the last
 *             bytes of a connection are missing
 *   mark      the guest has a cgroup of its own, made if it shared one (guest_cgroup.h), and the
 *             cgroup has its application's level for all connections that it opens; while the guest
 *             announces its tasks (guest_socket.h), the most urgent level of these
 *
 * An application is a name and a user: the same name of another user is another application. Only
 * applications of the users in `users` are marked, and those for which the controller vouches that
 * their driver belongs to the same user; guests of others are counted as refused. A guest in
 * another network namespace (a pod) is not marked either: this host's marks do not reach it.
 *
 * When an agent ends, guests stay where they are, their levels expire with the marks' lease, and
 * the next agent finds them again; guests_restore moves all back. Bytes received while no agent ran
 * are not counted, nor those of connections older than the guest's cgroup.
 *
 * Bounds: GUESTS_MAX guests of GUESTS_APPLICATIONS applications, of one user at most twice as many
 * as are left; further ones are counted, and left alone. A scan of /proc reads a file for each
 * process. One thread, in the sd-event loop. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/marks/marks.h"
#include "lib/err.h"
#include "schemas/duopoly.pb.h"

#include <sys/types.h>
#include <systemd/sd-event.h>

#define GUESTS_MAX          256
#define GUESTS_APPLICATIONS 64
#define GUESTS_USERS        16
#define GUESTS_RESCAN_NS    UINT64_C(30000000000)
#define GUESTS_TELL_MS      500 /* how often to call guests_tell */
#define GUESTS_HIDDEN       200

enum guests_rung { GUESTS_OFF, GUESTS_OBSERVE, GUESTS_MARK };

struct guests_config {
    const char *state_dir;
    const char *cgroup; /* the agent's own subtree: it contains no guests */
    const char *root;   /* where version 2 is mounted */
    enum guests_rung rung;
    uid_t users[GUESTS_USERS]; /* users whose applications are marked */
    uint32_t users_n;
    uint64_t rescan_ns;
    struct marks *marks;
};

struct guests;

/* `config`'s strings and marks are borrowed. With rung OFF: undoes what an earlier agent left, and
 * *ret_guests is NULL, which all other functions take. */
int guests_open(const struct guests_config *config, sd_event *event, struct guests **ret_guests,
                struct err *err);
void guests_close(struct guests *guests); /* takes NULL */

/* What guests_open would change; changes nothing. */
int guests_plan(const struct guests_config *config, struct changes *changes, struct err *err);

/* Moves every guest back to its former cgroup, whether or not the agent that moved it lives. */
int guests_restore(const char *state_dir, struct err *err);

/* Why processes of other users are not found, with what to do; "": they are. As of the last scan of
 * /proc; borrowed until the next one. */
const char *guests_hidden(const struct guests *guests);

/* Sets how far marks reach from now on (stance.h). */
void guests_reach(struct guests *guests, enum mark_reach reach);

/* The controller's word on an application; ignored for one that is not here. */
struct guest_said {
    const char *name;
    uid_t user;
    uint8_t level; /* 0 … 7, or MARK_UNMARKED */
    bool vouched;  /* its driver is this user's */
};
void guests_set_level(struct guests *guests, const struct guest_said *said);
/* Allows for its tasks, and levels of those that run. */
void guests_allow(struct guests *guests, const duopoly_GuestAllows *said);

/* A guest that announced itself: a process number alone can be reused. */
struct guest_id {
    pid_t pid;
    uint64_t start;
};

/* The process announces that it is `line`'s executor, which counts if its command line says
 * nothing. *ret_why_not: why it is not marked, "": it is; borrowed until the next call. −EPERM: its
 * command line names another application; −ENOENT: it cannot be a guest. */
struct executor_line;
int guests_announce(struct guests *guests, pid_t pid, const struct executor_line *line,
                    struct guest_id *ret_id, const char **ret_why_not, struct err *err);
/* One of its tasks begins or has ended; its level is in force when this returns. False: it is not a
 * guest. */
bool guests_task(struct guests *guests, const struct guest_id *id, const duopoly_GuestTask *task,
                 duopoly_GuestMark *ret_mark);
/* It announces nothing any more: none of its tasks runs. Also for one that is gone. */
void guests_tasks_end(struct guests *guests, const struct guest_id *id);

/* Those with a cgroup of their own, with the names of their applications. */
void guests_each_cgroup(const struct guests *guests,
                        void (*each)(void *user, uint64_t cgroup, const char *application),
                        void *user);

/* The guests that are here, with the bytes received so far. False: there are none, nor were there
 * the last time. */
bool guests_tell(struct guests *guests, duopoly_GuestsPart *ret_part);
