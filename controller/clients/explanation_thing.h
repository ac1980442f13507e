/* Explains the mode, a host, or a link of a host or switch: by which rule it is as it is, with the
 * numbers that are compared, who stands first there, since when, and what would change it. */
#pragma once

#include "controller/conductor.h"

/* Fills `answer` with an Explanation, or Refused. What it costs stands with each of them, and
 * of a name that is not there in absent_host.h. */
void explanation_thing(const struct conductor_parts *parts, const duopoly_ExplainThing *thing,
                       duopoly_Envelope *answer);
