/* Pages of things of which an agent has several: links, units, guests. Sorted by the agents' names,
 * and cut where a page is full (listing_place.h). */
#pragma once

#include "controller/conductor.h"
#include "schemas/duopoly.pb.h"

/* Adds the agent's rows from *row on to the page. False: the page is full, and *row is the next. */
typedef bool listing_rows_fill(const struct conductor_parts *parts, const struct agent_view *agent,
                               uint32_t *row, void *page);

/* Whether the agent that the request names is known, or it names none; else the answer is a
 * refusal. */
bool listing_rows_known(const struct conductor_parts *parts, const duopoly_List *list,
                        duopoly_Envelope *answer);
/* Fills the page with the rows of all agents, or of the one that the request names. Returns the
 * cursor of the next page; 0: it is the last. O(rows of a page + agents that have none). */
uint64_t listing_rows(const struct conductor_parts *parts, const duopoly_List *list,
                      listing_rows_fill *fill, void *page);
