/* Drains: hosts that get no new tasks, one by its name, or all of a rack as one change. Kept in the
 * store by the hosts' names. */
#pragma once

#include "controller/conductor.h"

/* Fills `answer`, Accepted or Refused. O(agents) for a rack. */
void drain_set_answer(struct conductor *conductor, const duopoly_DrainHost *drain,
                      duopoly_Envelope *answer);
