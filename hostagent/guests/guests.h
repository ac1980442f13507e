/* Guests: executors of frameworks that this agent did not start (an unmodified Spark's).
 *
 * They are found by their command lines (executor_line.h): as the kernel tells that a process became
 * another program (process_events_nl.h), and by a look at all of /proc: every `rescan_ns` where it
 * tells nothing, every GUESTS_RESCAN_NS besides. A guest is known by its number and start, and held
 * by a descriptor of the process: nobody else is ever taken for it. It is never killed or stopped.
 *
 * How far we reach, for each guest the lower one of two: the configuration's rung, and what its own
 * case allows, which guests_tell says with why it is no higher one.
 *
 *   observe   nothing of it is touched. Bytes are counted where its cgroup is its own; where it
 *             shares one they are read of its sockets every two seconds (tcp_received_nl.h): those of
 *             a connection's last moments are missing
 *   mark      the guest has a cgroup of its own, made where it shared one (guest_cgroup.h), and that
 *             cgroup its application's level: one for all that it opens; while it announces its
 *             tasks (guest_socket.h) the most urgent one of theirs
 *
 * An application is a name and a user: one that says another user's name is another application.
 * Only those of the users in `users` are marked, and those for which the controller vouches: their
 * driver is the same user's; guests of others are counted as refused. Nor is
 * marked who has a network of its own (a pod), which the marks of this host do not see.
 *
 * After an agent's end guests stay where they are, their levels run out with the marks' lease, and
 * the next agent finds them again; guests_restore puts all back. Bytes that came while no agent ran
 * are not counted, nor those of connections that are older than the guest's cgroup.
 *
 * Bounds: GUESTS_MAX guests of GUESTS_APPLICATIONS applications; further ones are counted, and left
 * alone. A look at /proc reads a file for each process there. One thread, in the sd-event loop. */
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
#define GUESTS_TELL_MS      500 /* how often guests_tell is to be called */
#define GUESTS_HIDDEN       200

enum guests_rung { GUESTS_OFF, GUESTS_OBSERVE, GUESTS_MARK };

struct guests_config {
    const char *state_dir;
    const char *cgroup; /* the agent's own subtree: no guests there */
    const char *root;   /* where version 2 is mounted */
    enum guests_rung rung;
    uid_t users[GUESTS_USERS]; /* whose applications are marked */
    uint32_t users_n;
    uint64_t rescan_ns;
    struct marks *marks;
};

struct guests;

/* `config`'s strings and marks are borrowed. With rung OFF: what an agent before left is put back,
 * and *ret_guests is NULL, as which all others take it. */
int guests_open(const struct guests_config *config, sd_event *event, struct guests **ret_guests,
                struct err *err);
void guests_close(struct guests *guests); /* takes NULL */

/* What guests_open would make; changes nothing. */
int guests_plan(const struct guests_config *config, struct changes *changes, struct err *err);

/* Everybody is back in the cgroup where he was, whether or not the agent that moved him lives. */
int guests_restore(const char *state_dir, struct err *err);

/* Why processes of other users are not found, with what to do; "" they are. As of the last look at
 * all of /proc; borrowed until the next one. */
const char *guests_hidden(const struct guests *guests);

/* How far marks reach from now on (stance.h). */
void guests_reach(struct guests *guests, enum mark_reach reach);

/* What the controller says of an application; nothing for one that is not here. */
struct guest_said {
    const char *name;
    uid_t user;
    uint8_t level; /* 0 … 7, or MARK_UNMARKED */
    bool vouched;  /* its driver is this user's */
};
void guests_set_level(struct guests *guests, const struct guest_said *said);
/* What its tasks may start with, and levels of those that run. */
void guests_allow(struct guests *guests, const duopoly_GuestAllows *said);

/* A guest that speaks: a process, whose number alone would be anybody's. */
struct guest_id {
    pid_t pid;
    uint64_t start;
};

/* It says that it is `line`'s executor, which counts where its command line says nothing. *ret_why_not:
 * why it is not marked, "" it is; borrowed until the next call. −EPERM: its command line says
 * another application; −ENOENT: it can be no guest. */
struct executor_line;
int guests_announce(struct guests *guests, pid_t pid, const struct executor_line *line,
                    struct guest_id *ret_id, const char **ret_why_not, struct err *err);
/* A task of it begins or has ended; its level is in force when this returns. False: it is no guest. */
bool guests_task(struct guests *guests, const struct guest_id *id, const duopoly_GuestTask *task,
                 duopoly_GuestMark *ret_mark);
/* It says nothing any more: none of its tasks runs. Also for one that is gone. */
void guests_tasks_end(struct guests *guests, const struct guest_id *id);

/* What is here now, with the bytes received until now. False: nothing is, nor was the last time. */
bool guests_tell(struct guests *guests, duopoly_GuestsPart *ret_part);
