/* Applications report where their executors have room. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* A fact: comes any number of times, whatever is known of the host. */
void room_told(struct engine *engine, const struct event *event);
