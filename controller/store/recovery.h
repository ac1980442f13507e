/* From the store's rows to what the controller knew: its jobs with what is done of them, the numbers
 * of hosts, drains, policies, how jobs and tasks ended, and what stages of frameworks had.
 *
 * Jobs come back through engine_load, the way that dumps are read: a dump of an empty engine of the
 * present configuration, with the store's records before its end (engine.h, engine_dump_job).
 * Parts of a job that had not come whole when the controller ended are given up.
 *
 * WHY not events that are replayed: they would be decided about again one by one, with sizes,
 * estimates and places in turn of an empty cluster; and WHY not a dump of the whole engine now and
 * then: it has to be written again and again, and what came after it has to be kept beside it.
 * A job's records are written once, a done task is one row, and both are read in one pass: O(rows).
 *
 * What ran is not in the store: hosts are known and silent until their agents' inventories say what
 * runs there, and agents.h waits for these before anything starts. */
#pragma once

#include "controller/agents/agents.h"
#include "controller/engine/engine.h"
#include "controller/history.h"
#include "controller/store/store.h"

struct recovered {
    struct engine *engine;    /* the caller's */
    struct agent_kept *hosts; /* the caller's, to be freed */
    size_t n_hosts;
    uint64_t jobs, tasks_done, finished;
    uint64_t newest_job; /* the highest number in the store that is not a framework's */
    uint64_t sizes;      /* of frameworks' stages */
    char unknown[128];   /* settings that are not obeyed any more, "": none */
};

/* The wall clock's time minus the engine's clock's (`now_ns`). While the machine has not been booted
 * anew it is the same as ever, whatever became of the wall clock: ages stay right. `scripted`: the
 * engine's clock is a test's, and begins anew with each start. Part of the present change. */
int64_t recovery_offset(struct store *store, bool scripted, int64_t now_ns);

/* Before store_begin. Errors have a sentence; nothing is to be released then. */
int recovery_run(struct store *store, const struct engine_config *config, int64_t now_ns,
                 int64_t offset_ns, struct history *history, struct recovered *ret_recovered,
                 struct err *err);
