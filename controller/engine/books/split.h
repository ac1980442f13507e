/* What a job's time goes into, for people: nothing is decided by it, and no dump has it. Private to
 * controller/engine.
 *
 * Each moment of a job's life is divided evenly among its tasks that wait or run then, and each
 * part counts for what its task does (enum split_part) and for the task's stage. So the parts of
 * all stages, and the time in which no task waited or ran, add up to the job's time. WHY not by
 * what any one task does: a job of which one task runs while a hundred wait would seem to run all
 * the time.
 *
 * Between two changes of a job's tasks the moment is shared by as many tasks. So a job keeps how
 * much time one task has had since the job began, and a stage keeps what that was when its own
 * tasks changed last: each change costs O(1), however many stages there are. Whoever changes what a
 * stage's tasks do calls split_look afterwards; several times in one step is the same as once.
 *
 * A job that was loaded is divided from then on; the time before is unknown. */
#pragma once

#include "controller/engine/base/state.h"

/* The job becomes active. */
void split_begin(struct engine *engine, struct job *job);
/* Tasks of the stage (or of the one whose way it is) wait, run, or neither, otherwise than
 * before. */
void split_look(struct engine *engine, struct stage *stage);
/* Whether a placement policy holds the stage, or a commit policy refuses it, and why. */
void split_hold(struct engine *engine, struct stage *stage, bool held, enum reason why);
/* The job is over: keeps its split until the next step begins (split_forget). O(its stages). */
void split_end(struct engine *engine, const struct job *job);
void split_forget(struct engine *engine);

/* Of an active job until `at_ns`, in `room`, of SPLIT_STAGES. O(its stages). */
void split_read(const struct job *job, int64_t at_ns, struct stage_split *room,
                struct job_split *ret_split);
/* Of one that ended in the last step. −ENOENT. O(those). */
int split_ended(const struct engine *engine, uint64_t job, struct job_split *ret_split);
