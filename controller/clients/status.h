/* The controller as a whole, for those who ask: schemas/duopoly.proto, Status. */
#pragma once

#include "controller/conductor.h"

/* Fills `answer` with a Status. O(hosts) while uplinks are full, else O(1). */
void status_answer(const struct conductor_parts *parts, duopoly_Envelope *answer);
