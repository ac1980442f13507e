/* Holds: slots that stay free although tasks are ready. Private to controller/engine.
 *
 * A stage is *held* from the end of a step in which a slot was free for its ready tasks and the
 * placement policy took none of them. The hold ends when the stage has no ready task left,
 * even_wait or start_wait after the stage's last start, and at the latest when it is *late*:
 * hold_max after the first such step since it last had nothing to wait for. Then it is *overdue*:
 * any host takes one of its tasks, before all others. A late stage is not held again: slots that
 * the policy would leave free go to it at once, task by task in order of turn. So no task waits
 * longer than hold_max while a slot that it could use is kept free: liveness that the source leaves
 * open. WHY only slots that would stay free: most stages that queue for long were held once, and if
 * all their tasks went first, the order of turns would be that of arrival. Both waits are
 * parameters of the placement in force: after a switch to one without them, only hold_max remains
 * from the next start on.
 *
 * A patient policy (place.h) forces a late stage's reduce tasks on no host: it places them when and
 * where it likes, and reports what they wait for; the stage stays overdue while only they are
 * ready. WHY: where the network serves by rank, a task whose input cannot flow yet would hold its
 * slot for as long as the earlier transfers last. A step that leaves only the last slots free
 * (place.h) does not start hold_max either. WHY: else all stages that queue would be late, and late
 * maps read their blocks from other hosts.
 *
 * Of a stage that can run in several ways each is held by itself, as long as a slot for it is free;
 * a start of any of its tasks serves all, and hold_max counts from the first step that left a slot
 * for one of them.
 *
 * Every stage with ready tasks is in one of three states: unheld, held, overdue. Marking costs
 * O(log n) per stage and change of state, never a scan over stages that are held already. */
#pragma once

#include "controller/engine/base/state.h"

/* One of its tasks was started: the wait for its next start begins, and an overdue stage becomes
 * unheld (except what a patient policy leaves overdue). */
void hold_stage_served(struct engine *engine, struct stage *stage);
/* Nothing more can be placed: holds stages with ready tasks for which a slot is free. True: a late
 * one became overdue instead; place, then mark again. */
bool hold_mark(struct engine *engine);
/* When the hold of a held stage ends. */
int64_t hold_end_ns(const struct stage *stage);
/* For load: the stage is held, with the times that it has. */
void hold_restore(struct engine *engine, struct stage *stage);
/* The job's turn changed. O(its waiting stages). */
void hold_reorder_job(struct engine *engine, struct job *job);

/* The wait of delay scheduling: a hold also ends this long after the last start of its stage. A
 * parameter of each placement that holds. */
extern const struct engine_parameter parameter_start_wait;
extern const struct listener hold_hears;
