/* Applications that let allows lapse. Private to controller/engine.
 *
 * An allow keeps room from others until its start is seen, or its time is over (allow.h). Who does
 * not use them keeps that room again and again: its tasks come in turn as before. So an application
 * may have as many allows at a time as it shows that it uses:
 *  - each that lapses halves how many it may have in force, beginning with as many as it has; one
 *    always;
 *  - each that a start uses doubles that, until nothing bounds it any more; beyond that it makes up
 *    for one that lapses, lapses_spared of them at most. So who uses most of them is never bounded;
 *  - what all bounded applications of a user have in force together is bounded by the same rule,
 *    and an application that is new begins with what its user may have: a new name is no new start;
 *  - a user may be the word of a key: the same is counted of the key, as far as its users' own uses
 *    have not made up for it. That bounds nobody, but a user that is new begins with it.
 * One that is withdrawn by its framework's own word (its job is over, its task done without a
 * start) lapses too, and so does one that late news withdraw (a start elsewhere, a block or an
 * output that is not there) when half of its time is over. WHY not before: honest frameworks start
 * elsewhere than they are allowed as a rule, and tell so within the round of their own offers; who
 * does it on purpose has what is free for half of allow_ns of its turn, as one whose tasks take
 * that long has. An application whose framework has no session (EVENT_FRAMEWORK_OWNER) is given
 * none: nobody would hear of them.
 *
 * What its own executors have it keeps from nobody but itself: there nothing is bounded (room.h).
 *
 * How: the stages of a bounded application are set apart, in shapes of their own (cluster.h), where
 * nothing is free while it has as many as it may; so no policy needs to know. A stage is set apart
 * when it is about to be allowed something, and comes back when it is announced again. A job whose
 * application has as many as it may goes behind all others when its turn comes, until its
 * application is bounded no more.
 *
 * With lapses_spared = 0, or without accounts (account.h), nothing is counted, as in logs of
 * before. O(log n), but for a stage that is set apart: its ready tasks, which the step counts as
 * starts. */
#pragma once

#include "controller/engine/base/state.h"

/* An allow of the stage was used, or ends without a start. */
void lapse_used(struct engine *engine, const struct stage *stage);
void lapse_unused(struct engine *engine, const struct stage *stage);

/* Before a claim is asked for: whose application has as many as it may goes behind the others. */
void lapse_step_aside(struct engine *engine);
/* The claim's stage is to be set apart first, and was: another claim is to be asked for. */
bool lapse_set_apart(struct engine *engine, struct stage *stage);
