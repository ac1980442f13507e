/* Frameworks tell bytes between stages. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* EVENT_FRAMEWORK_BYTES. A piece costs what it tells; framework_sizes.h says what it may cost
 * besides. */
void framework_bytes(struct engine *engine, const struct event *event);
