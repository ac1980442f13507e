/* The counters' part of listing.h: every number is read where it is counted; nothing is summed
 * here. */
#pragma once

#include "controller/clients/listing.h"
#include "controller/clients/listing_sieve.h"

/* A cursor is source : index; source 0 is the controller itself, source n the n-th agent in the
 * order of names; those who ask (loop_shares.h) follow. */
void counters_page(const struct listing_sources *sources, const duopoly_List *list,
                   struct sieve *sieve, duopoly_Page *page);
