/* Wishes: which hosts a stage's tasks prefer, whatever way they run. Private to controller/engine.
 *
 * A wish is a constraint with a utility. Placements may ignore it: a host that meets none can run
 * the tasks all the same. */
#pragma once

#include "controller/engine/base/state.h"

/* The sum of the utilities of those that the host meets; 0 where there are none. Of any variant of
 * the stage. O(length of the wishes). */
uint64_t wishes_utility(const struct stage *stage, const struct host *host);

/* How many the event of a stage has; −1: they are not valid. */
int wishes_told(const struct event *event);
/* The stage gets those of its event. */
void wishes_make(struct engine *engine, struct stage *stage, const struct event *event);
/* Wishes of a stage in the form of its event; `lines` has WISHES_LINES bytes. */
enum { WISHES_LINES = ENGINE_WISHES_MAX * CONSTRAINT_MAX };
void wishes_tell(const struct stage *stage, char *lines, uint32_t *utilities, struct event *event);
