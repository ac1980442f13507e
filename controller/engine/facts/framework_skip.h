/* Stages that their framework skips. Private to controller/engine.
 *
 * Their outputs are there from before, nobody says where: all their tasks are done. More of them
 * than one step may change (step_tasks_max) follow in the next ones; until then the stage offers
 * none of its tasks that it did not offer before, and what reads from it waits. Without
 * RULE_SKIPS_WAIT all are done in one step. */
#pragma once

#include "controller/engine/base/state.h"

/* All tasks that it has, or was told to have, now. */
void skipping_begin(struct engine *engine, struct stage *stage);
/* Goes on with those that were not skipped at once, the oldest job's first, as far as this step
 * may. */
void skipping_go_on(struct engine *engine);
/* For load: so many are to be skipped yet, from that one on, the first behind the last. */
void skipping_restore(struct engine *engine, struct stage *stage, uint32_t next,
                      uint32_t unskipped);
