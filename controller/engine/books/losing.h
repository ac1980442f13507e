/* Outputs that are lost with their host. Private to controller/engine.
 *
 * Maps whose output is still needed run again. One event looks at all tasks of all jobs with
 * outputs there; what it may not do in its step (step_tasks_max) is done in the next ones, the
 * oldest job's first. Until then such an output counts as there: who begins to read from it is
 * stopped when its turn comes. What began to run there later (the host is back, or another one has
 * its number) leaves outputs that stay (RULE_LATER_STAYS).
 *
 * A job has no more to lose when it is over, or none of its outputs is there.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Of one job on one host. */
struct losing {
    uint64_t job;
    struct host *host;
    bool is_there; /* nobody can fetch from it: that counts (rerun.h) */
    uint64_t last; /* of attempts whose outputs are lost; 0: of all */
    uint32_t stages,
        task; /* so many stages are left, and of the last of them the tasks from this on */
    struct sorted_node of_losing;
};

/* The host's outputs are gone; it is there, and nobody can fetch from it. */
void job_outputs_of_host_lost(struct engine *engine, struct host *host);
void job_outputs_out_of_reach(struct engine *engine, struct host *host);
/* Goes on with what could not be lost at once, as far as this step may. */
void losing_go_on(struct engine *engine);
/* The job is over. */
void losing_forget(struct engine *engine, const struct job *job);
/* For load: it had come so far. */
void losing_restore(struct engine *engine, const struct losing *losing);
void losing_done(struct engine *engine);
