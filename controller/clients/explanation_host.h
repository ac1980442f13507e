/* Explains how a host is used: its state and since when, what its slots are used for and why free
 * ones are free, how full its links and disk are, and what would change each of these. */
#pragma once

#include "controller/conductor.h"

/* Fills `answer` with an Explanation. `agent` is a view of parts->agents. Costs as much as
 * engine_explain_host. */
void explanation_host(const struct conductor_parts *parts, const struct agent_view *agent,
                      duopoly_Envelope *answer);
