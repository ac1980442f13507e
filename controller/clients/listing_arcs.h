/* Pages of the graph by which the placement decides (place flow): arcs of its last optimum, by
 * their numbers, which are the cursors. A page examines as many arcs as it has rows, and those
 * numbers in between that no arc has. */
#pragma once

#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"

/* Fills `answer` with an ArcPage; Refused where the placement decides by no graph. */
void listing_arcs(const struct conductor_parts *parts, const duopoly_List *list,
                  struct sieve *sieve, duopoly_Envelope *answer);
