/* Columns of the controller's lists. A cell says where the content of its column stands in a row,
 * and of what kind it is. Who fills a row and who shows it read it by the same cells, so a filter
 * means the same to both. Pure; O(1) for each cell. */
#pragma once

#include "lib/err.h"
#include "lib/writer.h"

#include <stddef.h>

enum { CELLS_MAX = 32 /* of a row */, CELL_WORDS = 256 };

/* How a row holds the member that a cell shows. */
enum cell_type { CELL_TEXT, CELL_U32, CELL_U64, CELL_I32, CELL_I64, CELL_BOOL };

/* Which content of it is shown as no content. */
enum cell_unless { UNLESS_NEVER, UNLESS_NOTHING /* 0 or "" */, UNLESS_NEGATIVE };

/* A column, and what stands in it. A table of them ends with a NULL key. */
struct cell {
    const char *key, *heading; /* as struct column */
    enum value_kind kind;      /* of its content, where it has any */
    enum cell_type type;
    size_t offset;
    enum cell_unless unless;
    bool (*lacks)(const void *row); /* such rows have no content here; NULL: all have */
    /* What it is, instead of a member; `words` is room for a text. */
    struct value (*value)(const void *row, char words[CELL_WORDS]);
    bool since; /* a time, or how long ago it was: what --since is about */
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
#define CELL_OF(key_, heading_, kind_, value_, ...)                                                \
    {                                                                                              \
        .key = (key_), .heading = (heading_), .kind = VALUE_##kind_, .value = (value_),            \
        __VA_ARGS__                                                                                \
    }

struct value cell_value(const struct cell *cell, const void *row, char words[CELL_WORDS]);

/* The cell with this key. −EINVAL with the nearest one's. */
int cell_find(const struct cell *cells, const char *key, const struct cell **ret_cell,
              struct err *err);
