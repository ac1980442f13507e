/* Holds: slots that stay free although tasks are ready. Private to controller/engine.
 *
 * A stage is *held* from the end of a step in which a slot was free for its ready tasks and the
 * placement policy took none of them. The hold ends when the stage has no ready task left,
 * even_wait or start_wait after the stage's last start, and at the latest when it is *late*:
 * hold_max after the first such step since it last had nothing to wait for. Then it is *overdue*:
 * any host takes one of its tasks, before all others. A late stage is not held again: what the
 * policy would leave free goes to it at once, task by task in order of turn. So no task waits
 * longer than hold_max while a slot that it could use is kept free: liveness that the source leaves
 * open. WHY only what is left: most stages that queue for long were held once, and if their tasks
 * all went first, the order of turns would be that of arrival. Both waits are those of the
 * placement in force: after a switch to one without them, the next start leaves only hold_max.
 *
 * Under a patient policy (place.h) a late stage's reduce tasks are forced on no host: they go when
 * and where it lets them, and it says what they wait for; the stage stays overdue while they alone
 * are ready. WHY: where the network serves by rank, a task whose input can not flow yet holds its
 * slot for as long as the earlier transfers last. Nor does hold_max count from a step that leaves
 * the last slots only, where the policy has such (place.h): else whatever queues is late, and late
 * maps read their blocks from afar.
 *
 * Every stage with ready tasks is in one of three states: unheld, held, overdue. Marking costs
 * O(log n) per stage and change of state, never a scan over stages that are held already. */
#pragma once

#include "controller/engine/base/state.h"

/* One of its tasks was started: waits from one start to the next begin anew, an overdue stage is
 * unheld (but for what a patient policy leaves overdue). */
void hold_stage_served(struct engine *engine, struct stage *stage);
/* Nothing more can be placed: stages with ready tasks for which a slot is free are held from now
 * on. True: a late one became overdue instead; place, then mark again. */
bool hold_mark(struct engine *engine);
/* When a held stage's hold ends. */
int64_t hold_end_ns(const struct stage *stage);
/* For load: the stage is held since, until. */
void hold_restore(struct engine *engine, struct stage *stage);
/* The job's turn changed. O(its stages that wait). */
void hold_reorder_job(struct engine *engine, struct job *job);

/* Delay scheduling's wait: a hold also ends so long after the last start of its stage. A parameter
 * of each placement that holds. */
extern const struct engine_parameter parameter_start_wait;
extern const struct listener hold_hears;
