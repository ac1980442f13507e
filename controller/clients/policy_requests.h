/* A client sets a policy, or the one that is configured. */
#pragma once

#include "controller/conductor.h"

/* Fills an Accepted or a Refused. */
void policy_set_answer(struct conductor *conductor, const duopoly_SetPolicy *set,
                       duopoly_Envelope *answer);
