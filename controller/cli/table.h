/* Lists of the controller as tables. A column says where its cell stands in a row, and a list where
 * its rows stand in an answer: commands only name them. */
#pragma once

#include "lib/client.h"
#include "lib/writer.h"

#include <stddef.h>

enum { TABLE_COLUMNS_MAX = 32, CELL_WORDS = 256 };

/* How a row holds the member that a cell shows. */
enum cell_type { CELL_TEXT, CELL_U32, CELL_U64, CELL_I32, CELL_I64, CELL_BOOL };

/* Which content of it is shown as no content. */
enum cell_unless { UNLESS_NEVER, UNLESS_NOTHING /* 0 or "" */, UNLESS_NEGATIVE };

/* A column, and what stands in it. A table of them ends with a NULL key. */
struct cell {
    const char *key, *heading; /* as struct column */
    enum value_kind kind;
    enum cell_type type;
    size_t offset;
    enum cell_unless unless;
    bool (*lacks)(const void *row); /* such rows have no content here; NULL: all have */
    /* What it is, instead of a member; `words` is room for a text. */
    struct value (*value)(const void *row, char words[CELL_WORDS]);
};

#define CELL_TYPE(member)                                                                          \
    _Generic((member),                                                                             \
        char *: CELL_TEXT,                                                                         \
        uint32_t: CELL_U32,                                                                        \
        uint64_t: CELL_U64,                                                                        \
        int32_t: CELL_I32,                                                                         \
        int64_t: CELL_I64,                                                                         \
        bool: CELL_BOOL)
/* The cell of a member of struct ROW, which the file defines for each of its tables. Further
 * members of struct cell may follow. */
#define CELL(key_, heading_, kind_, member, ...)                                                   \
    {                                                                                              \
        .key = (key_), .heading = (heading_), .kind = VALUE_##kind_,                               \
        .type = CELL_TYPE(((ROW *)0)->member), .offset = offsetof(ROW, member), __VA_ARGS__        \
    }
#define CELL_OF(key_, heading_, value_)                                                            \
    {                                                                                              \
        .key = (key_), .heading = (heading_), .value = (value_)                                    \
    }

struct value cell_value(const struct cell *cell, const void *row, char words[CELL_WORDS]);

/* A table that is being written. It must live until table_end. */
struct table {
    struct writer *writer;
    const struct cell *cells;
    struct column columns[TABLE_COLUMNS_MAX + 1];
};
void table_begin(struct table *table, const char *key, const struct cell *cells,
                 struct writer *writer);
void table_row(struct table *table, const void *row);
void table_end(struct table *table);

/* One of the controller's lists. */
struct list {
    duopoly_ListOf of;
    const char *key; /* of its table */
    const struct cell *cells;
    pb_size_t page; /* the kind of its answers, and where their rows are: */
    size_t rows, row_bytes, count, cursor;
    size_t stage; /* where the stage is that goes with the cursor; 0: there is none */
};
/* `of` LIST_…, the answer of kind page_ with rows_. Further members of struct list may follow. */
#define LIST_IN(of_, key_, cells_, page_, rows_, ...)                                              \
    {                                                                                              \
        .of = duopoly_ListOf_##of_, .key = (key_), .cells = (cells_),                              \
        .page = duopoly_Envelope_##page_##_tag,                                                    \
        .rows = offsetof(duopoly_Envelope, body.page_.rows_),                                      \
        .row_bytes = sizeof(((duopoly_Envelope *)0)->body.page_.rows_[0]),                         \
        .count = offsetof(duopoly_Envelope, body.page_.rows_##_count),                             \
        .cursor = offsetof(duopoly_Envelope, body.page_.cursor), __VA_ARGS__                       \
    }

/* Reads all pages of a list, of which `request` says more than its kind, and gives each row to
 * `each`, which asks for nothing itself. A result of `each` that is not 0 ends the reading: an
 * error is returned, and the client is of no use any more; else 0 is. *ret_changed (may be NULL):
 * the state changed between two pages. */
int list_read(struct client *client, const struct list *list, duopoly_List request,
              int (*each)(void *user, const void *row, struct err *err), void *user,
              bool *ret_changed, struct err *err);

/* A whole list as a table. */
int list_table(struct client *client, const struct list *list, duopoly_List request,
               struct writer *writer, bool *ret_changed, struct err *err);

/* The table of what `name` has ("": of all); `what` it is the name of, for a sentence. */
int list_table_of(struct client *client, const struct list *list, const char *name,
                  const char *what, struct writer *writer, struct err *err);
