/* Pages of the links of all agents' ports, or of one agent's (controller/agents/agent_links.h);
 * listing_rows.h. */
#pragma once

#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"

void listing_links(const struct conductor_parts *parts, const duopoly_List *list,
                   struct sieve *sieve, duopoly_Envelope *answer);
