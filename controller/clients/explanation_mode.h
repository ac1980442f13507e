/* Explains the mode: since when, by which rule and numbers, what these are now, and what would
 * change it. */
#pragma once

#include "controller/conductor.h"

/* Fills `answer` with an Explanation. As engine_mode. */
void explanation_mode(const struct conductor_parts *parts, duopoly_Envelope *answer);
