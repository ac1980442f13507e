/* What duopolyctl top shows: three of the controller's lists, and of each the columns that people
 * look at again and again. Const tables; pure. */
#pragma once

#include "controller/lists/list.h"

/* A column of a view: the list's with that key, or one of its own. */
struct top_column {
    const char *key;
    const struct cell *own; /* NULL: the list's */
    uint8_t rank;           /* where the screen is narrow the highest go first; 0 stays */
};

struct top_view {
    const char *name; /* what to write to begin with it */
    const struct list *list;
    bool in_turn; /* of jobs: as List.in_turn */
    const struct top_column
        *columns;        /* NULL key at the end; the last is cut where there is no room */
    unsigned last_least; /* columns of the screen that it gets before others are shown */
    bool (*alarms)(const void *row); /* it wants a look: something is wrong, or stands still */
};

enum { TOP_HOSTS, TOP_LINKS, TOP_JOBS, TOP_VIEWS };
extern const struct top_view top_views[TOP_VIEWS];

/* The view with this name; −EINVAL with the names of all. */
int top_view_find(const char *name, unsigned *ret_view, struct err *err);
/* The columns' cells, and how many there are. */
uint8_t top_view_cells(const struct top_view *view, const struct cell *ret_cells[CELLS_MAX]);

/* What an active job waits for, from its row. */
struct value top_job_waits(const void *job_row, char words[CELL_WORDS]);
