/* Pages of things of which an agent has several: links, units, guests. Sorted by the agents' names,
 * and cut where a page is full (listing_place.h). */
#pragma once

#include "controller/clients/listing_sieve.h"
#include "controller/conductor.h"
#include "schemas/duopoly.pb.h"

#include <stddef.h>

struct listing_rows {
    /* Moves *row on to the agent's next one, which may be *row itself. False: there is none. */
    bool (*find)(const struct conductor_parts *parts, const struct agent_view *agent,
                 uint32_t *row);
    /* Writes row number `row` to a row of the page. */
    void (*fill)(const struct conductor_parts *parts, const struct agent_view *agent, uint32_t row,
                 void *to);
    pb_size_t page; /* the kind of the answer, and where its rows are: */
    size_t rows, row_bytes, most, count, cursor;
};
#define LISTING_IN(page_)                                                                          \
    .page = duopoly_Envelope_##page_##_tag, .rows = offsetof(duopoly_Envelope, body.page_.rows),   \
    .row_bytes = sizeof(((duopoly_Envelope *)0)->body.page_.rows[0]),                              \
    .most = sizeof(((duopoly_Envelope *)0)->body.page_.rows) /                                     \
            sizeof(((duopoly_Envelope *)0)->body.page_.rows[0]),                                   \
    .count = offsetof(duopoly_Envelope, body.page_.rows_count),                                    \
    .cursor = offsetof(duopoly_Envelope, body.page_.cursor)

/* A page with the rows of all agents, or of the one that the request names, or a refusal where
 * there is no such agent. O(rows that the page looks at + agents that have none). */
void listing_rows(const struct conductor_parts *parts, const duopoly_List *list,
                  const struct listing_rows *what, struct sieve *sieve, duopoly_Envelope *answer);
