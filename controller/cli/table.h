/* Lists of the controller as tables: which columns and rows, and in which order, a selection says.
 * Commands only name a list. */
#pragma once

#include "controller/cli/selection.h"
#include "lib/client.h"

struct sorted;

/* A table that is being written. It must live until table_end. */
struct table {
    struct writer *writer;
    const struct selection *selection; /* NULL: all that there is */
    const struct cell *cells[CELLS_MAX];
    uint8_t cells_n;
    struct column columns[CELLS_MAX + 1];
    struct sorted *sorted; /* NULL: in the order of coming */
    uint64_t written;      /* rows, */
    uint64_t put;          /* of which those were out */
    uint64_t put_ns;       /* then */
};

/* `selection`, which may be NULL, is borrowed until the end. */
void table_begin(struct table *table, const char *key, const struct cell *cells,
                 const struct selection *selection, struct writer *writer);
/* 1: no more rows are wanted. −E2BIG, −ENOMEM: there are too many to be sorted. */
int table_row(struct table *table, const void *row, struct err *err);
/* A pause: what was given is written if the last writing was long ago. */
void table_settle(struct table *table);
/* `r` < 0: something failed; the table stays open, and what was kept is freed. Returns `r`. */
int table_end(struct table *table, int r);

/* What pages say of the controller's state; zeroed before the first of one or several readings. */
struct list_seen {
    uint64_t version; /* of the first page */
    bool changed;     /* since then, before the last page */
    size_t stage;     /* where the stage is that goes with the cursor; 0: there is none */
};

/* Reads all pages of a list, of which `request` says more than its kind, and gives each row to
 * `each`, which asks for nothing itself; `pause`, which may be NULL, is called between pages. A
 * result of `each` that is not 0 ends the reading: an error is returned, and the client is of no
 * use any more; else 0 is. `seen` may be NULL. */
int list_read(struct client *client, const struct list *list, duopoly_List request,
              int (*each)(void *user, const void *row, struct err *err), void (*pause)(void *user),
              void *user, struct list_seen *seen, struct err *err);

/* The rows of a list as a table; the selection, which may be NULL, says which, and `ask` has its
 * text. `seen` may be NULL. */
int list_table(struct client *client, const struct list *list, duopoly_List ask,
               const struct selection *selection, struct writer *writer, struct list_seen *seen,
               struct err *err);
/* What the request selects of a list, as the answer; `ask` says more of the list than its kind. */
int list_show(struct client *client, const struct list *list, const struct request *request,
              duopoly_List ask, struct writer *writer, struct err *err);
/* The same of what the first word names, if there is one; `what` that is, for a sentence. */
int list_show_of(struct client *client, const struct list *list, const struct request *request,
                 const char *what, struct writer *writer, struct err *err);

/* The table of all that `name` has; `what` it is the name of, for a sentence. */
int list_table_of(struct client *client, const struct list *list, const char *name,
                  const char *what, struct writer *writer, struct err *err);
