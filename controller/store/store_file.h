/* The store's file: SQLite in WAL mode with synchronous=FULL, so that what is committed is on the
 * disk when store_file_apply returns (sqlite.org, "Write-Ahead Logging"). One connection, used by
 * one thread at a time.
 *
 * The file's version stands in its header (user_version). One of a later version than this program's
 * is refused with a sentence and not touched; an older one is copied beside itself (FILE.v1 for
 * version 1), then migrated in one transaction.
 *
 * Each row has a column `hash` behind those of its table (rows.h). Reading checks it: a row that
 * does not fit is an error that names table and key. Rows that are missing are found by the sums of
 * their table (store_sums.h), and whole commits by what is known beside the file (store_last.h). Calls block for the disk. Errors are −errno
 * (−ENOSPC for a full disk) with a sentence. */
#pragma once

#include "controller/store/rows.h"
#include "controller/store/store_sums.h"
#include "lib/err.h"

struct store_schema {
    const struct row_table *tables;
    unsigned n_tables; /* at most STORE_SUMS_TABLES */
    int version;       /* from 1 */
    /* migrations[n]: SQL that makes version n + 1 of version n, for n from 1; hashes included. */
    const char *const *migrations;
};

struct store_file;

/* Opens or makes it. `vfs` NULL: the system's. −EPROTO: a later version; −EBADMSG: it is no store,
 * or damaged. `schema` is borrowed until close. */
int store_file_open(const char *path, const char *vfs, const struct store_schema *schema,
                    struct store_file **ret_file, struct err *err);
/* The same, of a file that had this commit: −EBADMSG with the way back when it has not; then its log
 * stays beside it as it is. */
int store_file_open_whole(const char *path, const char *vfs, const struct store_schema *schema,
                          const struct store_commit *known, struct store_file **ret_file,
                          struct err *err);
/* Whether there is no file, or one of no bytes. */
bool store_file_is_empty(const char *path);
/* NULL is fine. */
void store_file_close(struct store_file *file);

/* How many bytes the file may have at most, besides what is not yet moved into it; a change beyond
 * it is −ENOSPC. */
void store_file_bound(struct store_file *file, uint64_t bytes);

/* Pieces of encoded changes (row_encode), in order, in one transaction: all of them or none. */
struct store_piece {
    const uint8_t *at;
    size_t length;
};
int store_file_apply(struct store_file *file, const struct store_piece *pieces, size_t n,
                     struct err *err);

/* The newest commit; its number is 0 in a file without any. Changed by store_file_apply and
 * store_file_prune. */
const struct store_commit *store_file_newest(const struct store_file *file);

/* Reads a table in the order of its keys, checking each row. One cursor per table at a time. */
struct store_cursor;
int store_cursor_open(struct store_file *file, unsigned table, struct store_cursor **ret_cursor,
                      struct err *err);
/* 1 and a row, whose values are borrowed until the next call; 0 at the end; −EBADMSG: a row is
 * damaged, or at the end: rows are missing. Nobody may write between open and end but in another
 * transaction. */
int store_cursor_next(struct store_cursor *cursor, struct row_value *ret_values, struct err *err);
void store_cursor_close(struct store_cursor *cursor);

/* Everything is read and checked: SQLite's own structure, then each row's hash. −EBADMSG names the
 * first that is wrong. */
int store_file_check(struct store_file *file, uint64_t *ret_rows, struct err *err);

/* A copy of what is committed now, whole, into a new file of mode 0600; others may write meanwhile.
 * −EEXIST. */
int store_file_copy(struct store_file *file, const char *to, struct err *err);

/* From any thread: what runs on this connection ends soon, with −EIO. */
void store_file_interrupt(struct store_file *file);

/* Runs one of the owner's statements with up to two numbers, which deletes rows of `table` and returns
 * their `hash`, in a transaction of its own. How many rows it deleted, −errno. `sql` is a constant: it
 * is prepared once per pointer, 32 of them. */
int store_file_prune(struct store_file *file, unsigned table, const char *sql, int64_t first,
                     int64_t second, struct err *err);
/* Runs a statement that changes no row. */
int store_file_run(struct store_file *file, const char *sql, struct err *err);
/* The first column of the statement's first row; `otherwise` where there is none. */
int64_t store_file_ask(struct store_file *file, const char *sql, int64_t first, int64_t otherwise);
