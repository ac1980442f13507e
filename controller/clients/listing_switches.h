/* Pages of switches, and of the ports and steps of one (controller/switch/inventory.h). */
#pragma once

#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"

/* For `list->of`. Fills `answer`; a refusal if there is no such switch. */
void listing_switches(const struct conductor_parts *parts, const duopoly_List *list,
                      struct sieve *sieve, duopoly_Envelope *answer);
