/* Which of the rows that a page looks at stand in it: those that the request's filter keeps
 * (controller/lists/filter.h). Rows that it drops are not sent. A page looks at no more than
 * LISTING_FILLS rows, however few of them it keeps: then it ends with a cursor. */
#pragma once

#include "controller/lists/filter.h"
#include "controller/lists/list.h"

/* WHY so few: to fill a row takes up to 4 µs, of a job with many attempts more. */
#define LISTING_FILLS 512

struct sieve {
    size_t row_bytes;
    uint32_t looks;
    uint32_t kept, limit; /* limit: of rows in the page; 0: as many as fit */
    bool chooses;         /* there is a filter */
    struct filter filter;
};

/* `list` NULL: this list has no columns to filter by. False: `answer` has a refusal. */
bool sieve_open(struct sieve *sieve, const struct list *list, const char *filter, uint32_t limit,
                duopoly_Envelope *answer);
/* Whether the row, which is filled, stays where it is; else it is zeroed for the next one. */
bool sieve_keeps(struct sieve *sieve, void *row);
/* Whether the page has looked at as many rows, or keeps as many, as it may. */
bool sieve_is_worn(const struct sieve *sieve);
