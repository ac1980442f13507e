/* Policies' entries of reasons. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* The entry of a reason: of the policies in force, else of any policy that has it (the one that
 * gave it may have been replaced). NULL: no policy has it. */
const struct policy_reason *policy_reason(const struct engine *engine, enum decision_kind kind,
                                          enum reason reason);
