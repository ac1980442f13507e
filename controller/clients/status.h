/* The state of the controller as a whole: schemas/duopoly.proto, Status. */
#pragma once

#include "controller/conductor.h"

/* Fills `answer` with a Status. O(hosts). */
void status_answer(const struct conductor_parts *parts, duopoly_Envelope *answer);
