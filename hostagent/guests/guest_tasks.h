/* The tasks that run in one guest, as it announces them, and their levels and bytes (pure).
 *
 * A guest's tasks share its connections, one for each peer
 * (spark.shuffle.io.numConnectionsPerPeer), and its cgroup: so all have one level, that of the most
 * urgent. While only one runs, the level is its own, and so are the bytes that the cgroup receives;
 * bytes received while several run are counted, but for no task.
 *
 * Bytes are the cgroup's total, which never falls. At most GUEST_TASKS at once. O(running
 * tasks). */
#pragma once

#include "schemas/duopoly.pb.h"

#include <stdbool.h>
#include <stdint.h>

#define GUEST_TASKS 256

struct guest_task_levels {
    uint8_t coflow, macroflow; /* MARK_UNMARKED: none was given */
};

struct guest_running {
    duopoly_GuestTask said; /* as it began */
    struct guest_task_levels levels;
    uint64_t allow; /* the allow that it used; 0: none that was here */
    uint64_t begin_bytes;
    bool shared; /* another one ran at the same time */
};

/* Zero it first. */
struct guest_tasks {
    uint32_t n;
    struct guest_running *all; /* owned */
    uint64_t bytes;            /* at the last change */
    uint64_t shared_bytes;     /* received while several ran */
    uint64_t begun, unknown;   /* tasks; those without levels of their own */
};

/* `allow`: the one that it used. A task that runs already gets other levels. −E2BIG: too many run;
 * −ENOMEM. */
int guest_tasks_begin(struct guest_tasks *tasks, const duopoly_GuestTask *said, uint64_t allow,
                      struct guest_task_levels levels, uint64_t bytes);

/* *ret_ended: its last state. False: it does not run. */
bool guest_tasks_end(struct guest_tasks *tasks, uint32_t attempt, uint64_t bytes,
                     struct guest_running *ret_ended);

/* False: it does not run. */
bool guest_tasks_relabel(struct guest_tasks *tasks, uint32_t attempt,
                         struct guest_task_levels levels);

/* Finds the task that used this allow, and gives it the allow's new levels; or one without levels
 * that began before the allow came and means it: by its number, or by its place if it named none.
 * False: there is none. */
bool guest_tasks_allow(struct guest_tasks *tasks, const duopoly_Allow *allow);

/* The most urgent of each; MARK_UNMARKED if no running task has one. */
struct guest_task_levels guest_tasks_levels(const struct guest_tasks *tasks);

/* Ends all tasks. */
void guest_tasks_clear(struct guest_tasks *tasks, uint64_t bytes);
/* Frees what it owns. */
void guest_tasks_done(struct guest_tasks *tasks);
