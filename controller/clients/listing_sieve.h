/* Which of the rows that a page looks at stand in it: those that the request's filter keeps
 * (controller/lists/filter.h). Rows that it drops are not sent. A page looks at no more rows than
 * its bounds say, however few of them it keeps: then it ends with a cursor. */
#pragma once

#include "controller/lists/filter.h"
#include "controller/lists/list.h"

/* WHY so few: to fill a row takes up to 4 µs, of a job with many attempts more. */
#define LISTING_FILLS 512

/* Of a page. */
struct sieve_bounds {
    uint32_t rows;  /* that stand in it; 0: as many as fit */
    uint32_t looks; /* rows that are filled, LISTING_FILLS at most */
    uint32_t steps; /* of a job's tasks: those that are looked at, whether or not they make a row */
};

struct sieve {
    size_t row_bytes;
    struct sieve_bounds bounds;
    uint32_t looks, kept;
    int64_t now_ns; /* of the page: all of a job's tasks are as old as they are then */
    bool chooses;   /* there is a filter */
    struct filter filter;
};

/* `list` NULL: this list has no columns to filter by. False: `answer` has a refusal. */
bool sieve_open(struct sieve *sieve, const struct list *list, const char *filter,
                const struct sieve_bounds *bounds, duopoly_Envelope *answer);
/* Between which numbers this column is in rows that stay: none is, where the least is more than the
 * most. So rows that have it for their order need not be looked at. */
void sieve_range(const struct sieve *sieve, const char *key, uint64_t *ret_least,
                 uint64_t *ret_most);
/* Whether the row, of which only the first `known` bytes are filled, may stay; else it is zeroed
 * for the next one. It is no look. */
bool sieve_may_keep(const struct sieve *sieve, void *row, size_t known);
/* Whether the row, which is filled, stays where it is; else it is zeroed for the next one. */
bool sieve_keeps(struct sieve *sieve, void *row);
/* Whether the page has looked at as many rows, or keeps as many, as it may. */
bool sieve_is_worn(const struct sieve *sieve);
