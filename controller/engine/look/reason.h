/* What reasons of policies mean. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* The entry of a reason: of the policies in force, else of any that has it (who gave it may have
 * been replaced since). NULL: no policy's. */
const struct policy_reason *policy_reason(const struct engine *engine, enum decision_kind kind,
                                          enum reason reason);
