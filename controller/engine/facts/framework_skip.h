/* Stages that their framework skips. Private to controller/engine.
 *
 * Their outputs exist from before, in unknown places: all their tasks are done. Tasks beyond
 * step_tasks_max follow in later steps; until then the stage offers no further tasks, and its
 * readers wait. Without RULE_SKIPS_WAIT all are done in one step. */
#pragma once

#include "controller/engine/base/state.h"

/* Skips all tasks that it has now or was reported to have. */
void skipping_begin(struct engine *engine, struct stage *stage);
/* Continues with tasks that were not skipped at once, of the application whose turn it is
 * (backlog_turns.h) the oldest job's first, as far as this step may. */
void skipping_go_on(struct engine *engine);
/* For load: this many are still to be skipped, from `next` on; after the last comes the first. */
void skipping_restore(struct engine *engine, struct stage *stage, uint32_t next,
                      uint32_t unskipped);
