/* Tasks that run in one guest, as it announces them, and whose level and bytes are whose (pure).
 *
 * A guest's tasks share its connections, one for each peer (spark.shuffle.io.numConnectionsPerPeer),
 * and its cgroup: they can have one level only, that of the most urgent. While one runs at a time
 * that is its own, and so is all that the cgroup receives; what comes while several run is counted,
 * and nobody's.
 *
 * Bytes are the cgroup's so far, which never falls. Bounds: GUEST_TASKS at once. O(tasks that run). */
#pragma once

#include "schemas/duopoly.pb.h"

#include <stdbool.h>
#include <stdint.h>

#define GUEST_TASKS 256

struct guest_task_levels {
    uint8_t coflow, macroflow; /* MARK_UNMARKED: nobody said one */
};

struct guest_running {
    duopoly_GuestTask said; /* as it began */
    struct guest_task_levels levels;
    uint64_t allow; /* that it goes by; 0: none that was here */
    uint64_t begin_bytes;
    bool shared; /* another one ran beside it */
};

/* Zero to begin with. */
struct guest_tasks {
    uint32_t n;
    struct guest_running *all; /* owned */
    uint64_t bytes;            /* when something changed last */
    uint64_t shared_bytes;     /* that came while several ran */
    uint64_t begun, unknown;   /* tasks; those without levels of their own */
};

/* `allow`: that it goes by. A task that runs already has other levels now. −E2BIG: too many run;
 * −ENOMEM. */
int guest_tasks_begin(struct guest_tasks *tasks, const duopoly_GuestTask *said, uint64_t allow,
                      struct guest_task_levels levels, uint64_t bytes);

/* *ret_ended: as it was. False: it does not run. */
bool guest_tasks_end(struct guest_tasks *tasks, uint32_t attempt, uint64_t bytes,
                     struct guest_running *ret_ended);

/* False: it does not run. */
bool guest_tasks_relabel(struct guest_tasks *tasks, uint32_t attempt,
                         struct guest_task_levels levels);

/* The one that goes by this allow, which has other levels now; or one without levels that began
 * before the allow was here, and means it: by its number, or by its place where it named none. It has
 * the allow's levels now. False: there is none. */
bool guest_tasks_allow(struct guest_tasks *tasks, const duopoly_Allow *allow);

/* The most urgent of each; MARK_UNMARKED where none that runs has one. */
struct guest_task_levels guest_tasks_levels(const struct guest_tasks *tasks);

/* None runs any more. */
void guest_tasks_clear(struct guest_tasks *tasks, uint64_t bytes);
/* Frees what it owns. */
void guest_tasks_done(struct guest_tasks *tasks);
