/* Rows of a list in another order than they come: kept, in few bytes each, until all are there.
 * With a limit only so many of them are kept at once, in a heap, so that the first few of a long
 * list take little memory; without one there is a bound. Equal rows stay in the order of their
 * coming; rows without content come last, whichever way the others are sorted; names are compared
 * as people count them (w2 before w10). O(log kept) a row. */
#pragma once

#include "controller/cli/selection.h"

/* About 100 MB of rows of tasks. */
#define SORTED_ROWS_MAX 500000

struct sorted;

/* For the order and the limit of `selection`, which is borrowed. NULL: out of memory. */
struct sorted *sorted_create(const struct selection *selection);
/* Takes a copy of a row. −E2BIG: more than SORTED_ROWS_MAX rows are to be kept; −ENOMEM. */
int sorted_take(struct sorted *sorted, const void *row, struct err *err);
/* Hands out all rows in order, and frees everything. */
void sorted_end(struct sorted *sorted, void (*each)(void *user, const void *row), void *user);
/* Frees everything; NULL is fine. */
void sorted_destroy(struct sorted *sorted);
