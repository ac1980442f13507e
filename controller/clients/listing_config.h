/* Pages of the configuration: each key with what is in force and where that comes from, or the keys
 * that the file says otherwise now. A cursor is a key's number in the table. */
#pragma once

#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"
#include "schemas/duopoly.pb.h"

void listing_config(const struct conductor_parts *parts, const duopoly_List *list,
                    struct sieve *sieve, duopoly_Envelope *answer);
/* Reads the file for each page; Refused with its sentence if it is wrong. */
void listing_config_changes(const struct conductor_parts *parts, const duopoly_List *list,
                            struct sieve *sieve, duopoly_Envelope *answer);
