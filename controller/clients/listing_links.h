/* Pages of the links of all agents' ports, or of one agent's (controller/agents/agent_links.h). */
#pragma once

#include "controller/conductor.h"

/* Fills `answer`; a refusal if there is no such agent. A cursor is an agent's place in the order of
 * names, and a port's behind it: an agent that joins meanwhile may shift it by one. */
void listing_links(const struct conductor_parts *parts, const duopoly_List *list,
                   duopoly_Envelope *answer);
