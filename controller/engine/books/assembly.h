/* What a submitted job's parts amount to: sums of its tasks, stages and edges. Private to
 * controller/engine.
 *
 * A job's end does all of it. That of 10⁶ tasks takes a tenth of a second, so whoever ends such a
 * job does it in portions before (engine_prepare); nothing that is decided depends on that.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* So many looks at tasks, at most. True: all of it is done. The job is complete (job_is_complete)
 * and takes no more parts from the first call on. */
bool assembly_go_on(struct engine *engine, struct job *job, uint64_t most);
bool assembly_begun(const struct job *job);
/* Its children, which end the assembly. O(stages² + edges). */
void assembly_end(struct engine *engine, struct job *job);
/* Gives back what is kept of it meanwhile; assembly_end does so too. */
void assembly_forget(struct job *job);
/* Of an arriving job, whose tasks are made by its assembly: this one is made now. O(1). */
void assembly_make_task(struct stage *stage, uint32_t task);
