/* Sets the stance of all, one rack, one host or one switch; of a host also for a limited time,
 * until it is confirmed. */
#pragma once

#include "controller/conductor.h"

/* Sets it; fills `answer` with Accepted or Refused, and `what` with the request in words, for the
 * log. */
void stance_set_answer(const struct conductor_parts *parts, const duopoly_SetStance *set,
                       char *what, size_t size, duopoly_Envelope *answer);
