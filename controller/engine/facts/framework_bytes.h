/* Frameworks report bytes between stages. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* EVENT_FRAMEWORK_BYTES. Costs the size of the piece, and what framework_sizes.h says. */
void framework_bytes(struct engine *engine, const struct event *event);
