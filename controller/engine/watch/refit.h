/* Moves a framework's stage to another shape. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Its tasks take other room than before (room_owner, limit_of_shape). O(its stages and ready
 * tasks). */
void refit_stage(struct engine *engine, struct stage *stage);
/* The shape of a stage of the job; NULL: shapes are used up. */
struct shape *refit_shape(struct engine *engine, struct job *job, bool apart,
                          const struct resources *demand);
/* Gives its tasks another demand. */
void refit_demand(struct engine *engine, struct stage *stage, const struct resources *demand);
