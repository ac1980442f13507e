/* Rows of the store: tables, and the encoding of a row.
 *
 * A row is a value for each column of its table: a 64-bit number or text or bytes. Encoded rows
 * wait in memory for the writer (store_writer.h), and are hashed: each row in the file carries the
 * hash of its content, so a flipped bit is found, and the row is named.
 *
 * Tables and columns are described by a const table, from which the file's SQL is made. Columns are
 * never changed in place: a change needs a new version of the file with a migration (store_file.h).
 *
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROW_COLUMNS_MAX = 16 };

enum column_type { COLUMN_NUMBER, COLUMN_TEXT, COLUMN_BYTES };

struct row_column {
    const char *name;
    enum column_type type;
};

/* The first `keys` columns are the row's key. */
struct row_table {
    const char *name;
    unsigned keys, columns;
    struct row_column column[ROW_COLUMNS_MAX];
};

/* A value of any column; `at` is borrowed. A text contains no NUL; its length does not count
 * one. */
struct row_value {
    int64_t number;
    const void *at;
    size_t length;
};
#define ROW_NUMBER(n_)          ((struct row_value){.number = (int64_t)(n_)})
#define ROW_BYTES(at_, length_) ((struct row_value){.at = (at_), .length = (length_)})
struct row_value row_text(const char *text);

/* Growing bytes; zero it first. `failed`: memory was short, and something is missing. */
struct row_bytes {
    uint8_t *at;
    size_t used, size;
    bool failed;
};
void row_bytes_done(struct row_bytes *bytes);

/* What is to be done with a row. */
enum row_change {
    ROW_PUT,   /* this row, replacing the one with its key */
    ROW_DELETE /* all rows whose key begins with these columns */
};

/* Appends a change of tables[table]: all columns for ROW_PUT, the first `columns` of the key
 * for ROW_DELETE. */
void row_encode(const struct row_table *tables, unsigned table, enum row_change change,
                const struct row_value *values, unsigned columns, struct row_bytes *bytes);

struct row_decoded {
    enum row_change change;
    unsigned table, columns;
    struct row_value values[ROW_COLUMNS_MAX]; /* borrow the bytes */
    int64_t hash;                             /* ROW_PUT: of the row */
};
/* Reads the change at `at`, which row_encode wrote; returns its length. */
size_t row_decode(const struct row_table *tables, const uint8_t *at, struct row_decoded *ret_row);

/* The hash (XXH3, 64 bits) of a row with these values. `room` is scratch memory and may be
 * reused. */
int64_t row_hash(const struct row_table *tables, unsigned table, const struct row_value *values,
                 struct row_bytes *room);
