/* Restores the controller's state from the store's rows: its jobs with their done tasks, the
 * numbers of hosts, drains, policies, how jobs and tasks ended, and the sizes of frameworks'
 * stages.
 *
 * Jobs are restored by engine_load, as dumps are: from a dump of an empty engine with the present
 * configuration, into which the store's records are inserted (engine.h, engine_dump_job). Parts of
 * a job that was incomplete when the controller ended are dropped.
 *
 * WHY no replay of events: the engine would decide about each again, with the sizes, estimates and
 * order of an empty cluster. WHY no periodic dump of the whole engine: it must be written again and
 * again, and later changes must be kept with it. A job's records are written once, a done task is
 * one row, and both are read in one pass: O(rows).
 *
 * The store does not have what was running: hosts are known and silent until their agents'
 * inventories list what runs there, and agents.h waits for these before anything starts. */
#pragma once

#include "controller/agents/agents.h"
#include "controller/engine/engine.h"
#include "controller/history.h"
#include "controller/store/store.h"

struct recovered {
    struct engine *engine;    /* owned by the caller */
    struct agent_kept *hosts; /* owned by the caller, to be freed */
    size_t n_hosts;
    uint64_t jobs, tasks_done, finished;
    uint64_t newest_job; /* the highest number in the store that is not a framework's */
    uint64_t sizes;      /* of frameworks' stages */
    char unknown[128];   /* settings that no longer apply; "": none */
};

/* The wall clock minus the engine's clock (`now_ns`). Until the machine reboots it stays the same,
 * whatever happens to the wall clock, so that ages stay right. `scripted`: the engine's clock is a
 * test's, and restarts with each start. Written in the open change. */
int64_t recovery_offset(struct store *store, bool scripted, int64_t now_ns);

/* Call it before store_begin. Errors have a sentence; nothing has to be released then. */
int recovery_run(struct store *store, const struct engine_config *config, int64_t now_ns,
                 int64_t offset_ns, struct history *history, struct recovered *ret_recovered,
                 struct err *err);
