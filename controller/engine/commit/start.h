/* A claim that was admitted becomes a start, or an allow. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Turns a claim that fits into a start decision. */
struct attempt *attempt_start(struct engine *engine, const struct claim *claim);
