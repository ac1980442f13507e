/* Outputs lost with their host. Private to controller/engine.
 *
 * Maps whose output is still needed run again. One event concerns all tasks of all jobs with
 * outputs there; work beyond step_tasks_max is done in later steps, the oldest job's first while it
 * is the turn of submitted jobs (facts/backlog_turns.h). Until then such an output counts as there:
 * a task that begins to read it is stopped when the output's turn comes. Attempts that began there
 * later (the host is back, or another one has its number) leave outputs that stay
 * (RULE_LATER_STAYS).
 *
 * A job loses nothing more when it is over or has no output there.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Of one job on one host. */
struct losing {
    uint64_t job;
    struct host *host;
    bool is_there; /* the host is there, but no other can read from it: that counts (rerun.h) */
    uint64_t last; /* the last attempt whose output is lost; 0: all are */
    uint32_t stages,
        task; /* this many stages are left, and of the last of them the tasks from `task` on */
    struct sorted_node of_losing;
};

/* The host's outputs are gone; the host is there, but no other can read from it. */
void job_outputs_of_host_lost(struct engine *engine, struct host *host);
void job_outputs_out_of_reach(struct engine *engine, struct host *host);
/* Continues what earlier steps left, as far as this step may. */
void losing_go_on(struct engine *engine);
/* The job is over. */
void losing_forget(struct engine *engine, const struct job *job);
/* For load: the former progress. */
void losing_restore(struct engine *engine, const struct losing *losing);
void losing_done(struct engine *engine);
