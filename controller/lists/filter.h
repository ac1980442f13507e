/* Which rows of a list are wanted, in the words of a person:
 *
 *     state=up|draining, uplink_permille>=90%, name~"rack 3"
 *
 * Conditions between commas must all hold. Each is a column by its key, an operator and a value:
 * = != (the same or not), < <= > >= (amounts, names that are numbers, times), ~ !~ (a text that
 * contains it or not). Between bars are several values for = != ~ !~, of which one has to match, or
 * none. Values are written as the column's kind is: an amount with its unit (10MB, 1.5s, 90 %,
 * 1Gbps) or as the bare number that JSON has; yes or no; an instant (instant.h); a text, between
 * quotation marks where it has a sign of the language, a blank at its end, or is "-". A bare - is
 * no content. What has none is unequal to every value, and neither less nor more.
 *
 * Both sides of the wire read the same text by the same cells: columns may be added, the language
 * may grow, and who does not know a word refuses it with a sentence. Pure; reading is O(length ×
 * columns), a look at a row O(values). */
#pragma once

#include "controller/lists/cell.h"

enum {
    FILTER_TEXT = 512 /* bytes, with the NUL */,
    FILTER_TERMS = 16,
    FILTER_VALUES = 48 /* of all terms */,
};

enum filter_operator {
    FILTER_IS,
    FILTER_IS_NOT,
    FILTER_HAS,
    FILTER_HAS_NOT,
    FILTER_LESS,
    FILTER_AT_MOST,
    FILTER_MORE,
    FILTER_AT_LEAST,
};

/* One condition: its values are those from `first` on. */
struct filter_term {
    const struct cell *cell;
    enum filter_operator op;
    uint8_t first, n;
};

struct filter_value {
    bool absent;
    uint16_t text;   /* where it begins in the filter's words */
    __int128 number; /* of kinds that are no text */
};

/* Read by filter_read; may be copied. Zeroed: every row is wanted. */
struct filter {
    uint8_t terms_n, values_n;
    struct filter_term terms[FILTER_TERMS];
    struct filter_value values[FILTER_VALUES];
    char words[FILTER_TEXT];
};

/* Reads a filter of rows with these cells, which are borrowed as long as it is used; "": every row.
 * −EINVAL with a sentence that says where, and what was perhaps meant. */
int filter_read(const char *text, const struct cell *cells, struct filter *ret_filter,
                struct err *err);

/* Whether a row is wanted. */
bool filter_keeps(const struct filter *filter, const void *row);
/* Whether it may be, by its first `known` bytes: more of it is not filled yet. WHY: to fill a row
 * takes many times as long as to see that it is not wanted. */
bool filter_may_keep(const struct filter *filter, const void *row, size_t known);

/* Between which numbers, both included, this column is in rows that are wanted, as far as
 * conditions on it alone say. None is wanted: *ret_least > *ret_most. O(conditions). */
void filter_range(const struct filter *filter, const char *key, uint64_t *ret_least,
                  uint64_t *ret_most);
