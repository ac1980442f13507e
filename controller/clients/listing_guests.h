/* Pages of guests, a row for each application on each host, sorted by hosts' names: of all hosts,
 * or of the one that the request names. */
#pragma once

#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"
#include "schemas/duopoly.pb.h"

void listing_guests(const struct conductor_parts *parts, const duopoly_List *list,
                    struct sieve *sieve, duopoly_Envelope *answer);
