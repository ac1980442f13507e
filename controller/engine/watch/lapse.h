/* Applications that let allows lapse. Private to controller/engine.
 *
 * An allow keeps room from others until its start is seen or its time is over (allow.h). An
 * application that does not use its allows would keep that room for ever, since its tasks come in
 * turn as before. So it may have as many allows in force as it proves to use:
 *  - each lapsed allow halves its limit, beginning with what it has in force; one is always
 *    allowed;
 *  - each used allow doubles the limit, until there is none; beyond that it makes up for one lapsed
 *    allow, lapses_spared of them at most. So an application that uses most allows is never
 *    limited;
 *  - the same rule limits the sum over all limited applications of a user, and a new application
 *    begins with its user's limit: a new name is no new start;
 *  - a key may name any user: lapsed allows are counted for the key, too, as far as its users' own
 *    uses have not made up for them. That limits no present user, but a new one begins with it.
 * An allow that the framework's own report withdraws (its job is over, its task done without a
 * start) lapses too. So does one that a late report withdraws (a start elsewhere, a block or an
 * output that is not there) when half of its time is over. WHY not before: honest frameworks often
 * start elsewhere than allowed, and report it within one round of offers; one that does it on
 * purpose occupies free slots for half of allow_ns of its turn, as tasks of that length would. An
 * application whose framework has no session (EVENT_FRAMEWORK_OWNER) gets no allows: they would
 * reach nobody.
 *
 * An application's allows in its own rooms keep nothing from others: they are not limited (room.h).
 *
 * How: a limited application's stages are set apart, in shapes of their own (cluster.h), where
 * nothing is free while it has as many allows as it may; so no policy needs to know. A stage is set
 * apart just before an allow of it, and returns when it is announced again. A job whose application
 * is at its limit goes behind all others when its turn comes, until its application is unlimited.
 *
 * With lapses_spared = 0, or without accounts (account.h), nothing is counted, as in older logs.
 * O(log n), except setting a stage apart: its ready tasks, which count as starts of the step. */
#pragma once

#include "controller/engine/base/state.h"

/* An allow of the stage was used, or ends without a start. */
void lapse_used(struct engine *engine, const struct stage *stage);
void lapse_unused(struct engine *engine, const struct stage *stage);

/* Before claims are proposed: if the first job's application is at its limit, the job goes behind
 * the others, which counts as a start of the step. False: the first one stays. O(log n). */
bool lapse_step_aside(struct engine *engine);
/* True: the claim's stage had to be set apart and was; pick another claim. */
bool lapse_set_apart(struct engine *engine, struct stage *stage);
