/* Refusals about a host or a switch that nobody knows: they name the nearest one that is known.
 *
 * O(names), of which at most 4096 are compared: only for a name that is not there. */
#pragma once

#include "controller/agents/agents.h"

enum absent_kind { ABSENT_HOST, ABSENT_SWITCH, ABSENT_EITHER };

/* "there is no host NAME; did you mean 'OTHER'?", with REASON_UNKNOWN; where none of that kind is
 * known without the question. */
void absent_host_answer(const struct agents *agents, enum absent_kind kind, const char *name,
                        duopoly_Envelope *answer);
