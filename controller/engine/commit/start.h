/* Turns an admitted claim into a start, or an allow. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* The claim must fit. */
struct attempt *attempt_start(struct engine *engine, const struct claim *claim);
