/* Applications report where their executors have room. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* A fact: comes any number of times, whatever is known of the host. */
void room_told(struct engine *engine, const struct event *event);
/* Jobs go on to enter or leave their application's rooms, of the application whose turn it is
 * (backlog_turns.h), as far as this step may look. */
void rooms_go_on(struct engine *engine);
/* For load: the former progress. */
void rooms_restore_moving(struct engine *engine, struct application *application, bool leaving,
                          uint64_t reached);
