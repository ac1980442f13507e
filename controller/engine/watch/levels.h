/* Levels of attempts, by the network policy in force. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Its sizes of now, and the levels that follow. A stage's Coflow is fixed at its first dispatch,
 * but that of a framework's stage, whose sizes come later. O(maps). */
void attempt_set_sizes(struct engine *engine, struct attempt *attempt);
/* Its host marks as another controller said, or a framework started it and nobody said anything. */
void attempt_tell_levels(struct engine *engine, const struct attempt *attempt);
