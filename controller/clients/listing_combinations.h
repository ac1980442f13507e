/* Pages of the combinations of policies, whether each works, and which is in force. */
#pragma once

#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"
#include "schemas/duopoly.pb.h"

/* The cursor is a combination's number (engine_combination). */
void listing_combinations(const struct conductor_parts *parts, const duopoly_List *list,
                          struct sieve *sieve, duopoly_Envelope *answer);
