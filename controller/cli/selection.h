/* What somebody wants of a list: --filter, --since, --columns, --sort and --limit mean the same for
 * every list and in every form. The controller carries out the filter, so that rows which it drops
 * are not sent (controller/lists/filter.h); of lists that are put together here it is carried out
 * here. Order, columns and the number of rows are this program's. */
#pragma once

#include "controller/cli/commands.h"
#include "controller/lists/filter.h"
#include "controller/lists/list.h"

enum { SELECTION_SORTS = 4 };

struct selection {
    const struct list *list;
    bool given;              /* any of them is */
    char text[FILTER_TEXT];  /* of the filter, with what --since says; "": all rows */
    struct filter filter;    /* the same */
    uint8_t columns_n, by_n; /* 0: those of the list; 0: in its order */
    const struct cell *columns[CELLS_MAX];
    struct selection_sort {
        const struct cell *cell;
        bool down; /* the largest first */
    } by[SELECTION_SORTS];
    uint64_t limit;
};

/* Reads the options. −EINVAL with a sentence. The selection borrows from the list. */
int selection_read(const struct request *request, const struct list *list,
                   struct selection *ret_selection, struct err *err);

/* Whether the request says any of the options. */
bool selection_is_given(const struct request *request);

/* Says of which schema the answer is: rows of chosen columns have one of their own, which the field
 * "of" belongs to. It may come before or behind the table. */
void selection_schema(const struct selection *selection, struct writer *writer);
