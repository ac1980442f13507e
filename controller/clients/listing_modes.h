/* Pages of the mode's changes (controller/mode_history.h), the newest first. */
#pragma once

#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"

void listing_modes(const struct conductor_parts *parts, const duopoly_List *list,
                   struct sieve *sieve, duopoly_Envelope *answer);
