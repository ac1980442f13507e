/* Pages of what tasks receive now: Macroflows (all flows into one task) in order of their attempts'
 * numbers, Coflows (all flows into a stage) in order of jobs and stages. Live ones only: some of
 * their bytes are still to come. A page examines LISTING_LOOKS things at most, and may be empty
 * with a cursor; a stage of which more than that runs is looked at over several pages. */
#pragma once

#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"

/* Whether an attempt receives now, as far as is known. */
bool listing_receives(const struct attempt_view *attempt);

void listing_macroflows(const struct conductor_parts *parts, const duopoly_List *list,
                        struct sieve *sieve, duopoly_Envelope *answer);
void listing_coflows(const struct conductor_parts *parts, const duopoly_List *list,
                     struct sieve *sieve, duopoly_Envelope *answer);
