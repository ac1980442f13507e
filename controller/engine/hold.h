/* Holds: slots that stay free although tasks are ready. Private to controller/engine.
 *
 * A stage is *held* from the end of a step in which a slot was free for its ready tasks and the
 * placement policy took none of them. The hold ends when the stage has no ready task left, or
 * hold_max after its last start (even_wait for maps that are kept even; then it is *overdue* and
 * any host takes it): liveness that the source leaves open. Every stage with ready tasks is in one
 * of three states: unheld, held, overdue. Marking costs O(log n) per stage and change of state,
 * never a scan over stages that are held already. */
#pragma once

#include "controller/engine/state.h"

/* The stage has ready tasks; has no more. */
void hold_stage_ready(struct engine *engine, struct stage *stage);
void hold_stage_empty(struct engine *engine, struct stage *stage);
/* One of its tasks was started: the hold begins anew, an overdue stage is unheld. */
void hold_stage_served(struct engine *engine, struct stage *stage);
/* Its job's turn changed. */
void hold_reorder(struct engine *engine, struct stage *stage);
/* Nothing more can be placed: stages with ready tasks for which a slot is free are held from now
 * on. */
void hold_mark(struct engine *engine);
/* Holds whose time is over. */
void hold_expire(struct engine *engine);
/* When the next hold ends; INT64_MAX: none. */
int64_t hold_deadline_ns(const struct engine *engine);
/* For load: the stage is held since, until. */
void hold_restore(struct engine *engine, struct stage *stage);
