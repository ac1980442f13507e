/* Setting how far duopoly goes, of all, one rack, one host or switch; of a host also for so long only, until
 * somebody confirms it. */
#pragma once

#include "controller/conductor.h"

/* Sets it, and fills `answer` with Accepted or Refused, `what` with what was asked, for the log. */
void stance_set_answer(const struct conductor_parts *parts, const duopoly_SetStance *set,
                       char *what, size_t size, duopoly_Envelope *answer);
