/* Jobs with stages that their framework places itself (gate.h) and of which tasks wait. Private to
 * controller/engine.
 *
 * The framework starts one of these tasks wherever it has a slot, its jobs in order of turn. So
 * what a placement leaves free while there is such a job is kept for nobody: that job takes it.
 *
 * A stage counts while its parents are done and not all of its tasks have started. It follows from
 * facts. O(log n) and the stage's children for each task that moves, the job's stages when it
 * grows. */
#pragma once

#include "controller/engine/base/state.h"

/* The turn of the first of these jobs; NULL: there is none. */
const struct sorted_key *opened_first(const struct engine *engine);
/* Whether its framework places the stage, or what was announced of it, may have changed. */
void opened_follow(struct engine *engine, struct stage *stage);

extern const struct listener opened_hears;
