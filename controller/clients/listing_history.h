/* Pages of the jobs that ended, the newest first: when, how, and where their time went. Of these
 * the engine and history.h keep as many as the store (bounds.finished), so a page asks no disk. */
#pragma once

#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"
#include "schemas/duopoly.pb.h"

void listing_history(const struct conductor_parts *parts, const duopoly_List *list,
                     struct sieve *sieve, duopoly_Envelope *answer);
