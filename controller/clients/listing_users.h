/* Pages of the users that are known, in the order of their numbers, of who owes whom, and of what
 * each had of the cluster over time. */
#pragma once

#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"
#include "schemas/duopoly.pb.h"

void listing_users(const struct conductor_parts *parts, const duopoly_List *list,
                   struct sieve *sieve, duopoly_Envelope *answer);
void listing_debts(const struct conductor_parts *parts, const duopoly_List *list,
                   struct sieve *sieve, duopoly_Envelope *answer);
void listing_shares(const struct conductor_parts *parts, const duopoly_List *list,
                    struct sieve *sieve, duopoly_Envelope *answer);
