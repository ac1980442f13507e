/* Sums over a submitted job's tasks, stages and edges. Private to controller/engine.
 *
 * A job's end computes all of them. For 10⁶ tasks that takes a tenth of a second, so the caller may
 * do it in portions before the end (engine_prepare); no decision depends on that.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Does at most `most` looks at tasks. True: all is done. The job must be complete (job_is_complete)
 * and takes no more parts from the first call on. */
bool assembly_go_on(struct engine *engine, struct job *job, uint64_t most);
bool assembly_begun(const struct job *job);
/* This task of the stage is in its job's sums. O(1). */
bool assembly_has_counted(const struct stage *stage, uint32_t task);
/* Links stages to their children, which ends the assembly. O(stages² + edges). */
void assembly_end(struct engine *engine, struct job *job);
/* Frees the state of an unfinished assembly; assembly_end does so too. */
void assembly_forget(struct job *job);
/* Makes one task of an arriving job now instead of in its assembly. O(1). */
void assembly_make_task(struct stage *stage, uint32_t task);
