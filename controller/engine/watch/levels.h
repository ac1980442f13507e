/* Levels of attempts, by the network policy in force. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Sets its present sizes and the levels that follow. A stage's Coflow is fixed at its first
 * dispatch, except that of a framework's stage, whose sizes come later. O(maps). */
void attempt_set_sizes(struct engine *engine, struct attempt *attempt);
/* Decides its levels again: its host marks as another controller decided, or a framework started it
 * without levels. */
void attempt_tell_levels(struct engine *engine, const struct attempt *attempt);
