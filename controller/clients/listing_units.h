/* Pages of the units of all hosts, sorted by the hosts' names, or of the host that the request
 * names: what each has, what is free, and what runs there. */
#pragma once

#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"
#include "schemas/duopoly.pb.h"

void listing_units(const struct conductor_parts *parts, const duopoly_List *list,
                   struct sieve *sieve, duopoly_Envelope *answer);
