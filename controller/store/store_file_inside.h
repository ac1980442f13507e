/* What store_file.c, store_cursor.c and store_reading.c share: the connection and its
 * statements. */
#pragma once

#include "controller/store/store_file.h"

enum { STORE_KEYS_MAX = 4, STORE_OWN_MAX = 64 };

struct store_file {
    char path[512];
    const struct store_schema *schema;
    sqlite3 *db;
    sqlite3_stmt **put, **delete; /* by table; delete: by the number of key columns, up to 4 */
    struct {
        const char *sql;
        sqlite3_stmt *statement;
    } own[STORE_OWN_MAX];
    struct row_bytes room;
    struct store_sums sums, next; /* as committed, and with the open transaction */
    sqlite3_stmt *sums_put;
    uint64_t bytes_max; /* store_file_bound */
    bool reading;       /* store_reading.h */
    struct err why;
};

/* Without a connection; NULL: out of memory. */
struct store_file *store_file_create(const char *path, const struct store_schema *schema);
/* Reads its sums. −EBADMSG: they are damaged, or older than `known`. */
int store_file_judge(struct store_file *file, const struct store_commit *known, struct err *err);
/* The first column of the first row, −1: none. */
int64_t store_file_number(struct store_file *file, const char *sql);

/* −errno with a sentence from SQLite's error: "PATH `what`: …". */
int store_file_fail(const struct store_file *file, const char *what, struct err *err);
int store_file_statement(struct store_file *file, const char *sql, sqlite3_stmt **ret_statement,
                         struct err *err);
/* Reads the committed sums. −EBADMSG: they are damaged. */
int store_file_sums(struct store_file *file, struct err *err);
/* store_cursor_next without its check at the end: the rows, and their sum. */
int store_cursor_row(struct store_cursor *cursor, struct row_value *ret_values, struct err *err);
const struct store_sum *store_cursor_seen(const struct store_cursor *cursor);
