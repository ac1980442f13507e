/* The store's file: SQLite in WAL mode with synchronous=FULL, so that what is committed is on the
 * disk when store_file_apply returns (sqlite.org, "Write-Ahead Logging"). One connection, used by
 * one thread at a time.
 *
 * The file's version is in its header (user_version). A file with a later version than this
 * program's is refused with a sentence and not touched; an older one is copied (to FILE.v1 for
 * version 1), then migrated in one transaction.
 *
 * Each row has a column `hash` after those of its table (rows.h). Reading checks it: a mismatch is
 * an error that names table and key. Missing rows are found by the sums of their table
 * (store_sums.h), missing commits by a file beside it (store_last.h). Calls block for the disk.
 * Errors are −errno (−ENOSPC for a full disk) with a sentence. */
#pragma once

#include "controller/store/rows.h"
#include "controller/store/store_sums.h"
#include "lib/err.h"

struct store_schema {
    const struct row_table *tables;
    unsigned n_tables; /* at most STORE_SUMS_TABLES */
    int version;       /* ≥ 1 */
    /* migrations[n]: SQL that turns version n into version n + 1, for n ≥ 1; hashes included. */
    const char *const *migrations;
};

struct store_file;

/* Opens or makes it. `vfs` NULL: the system's. −EPROTO: a later version; −EBADMSG: not a store, or
 * damaged. `schema` is borrowed until close. */
int store_file_open(const char *path, const char *vfs, const struct store_schema *schema,
                    struct store_file **ret_file, struct err *err);
/* The same for a file that must contain this commit: −EBADMSG with what to do if it does not; its
 * log is then kept as it is. */
int store_file_open_whole(const char *path, const char *vfs, const struct store_schema *schema,
                          const struct store_commit *known, struct store_file **ret_file,
                          struct err *err);
/* Whether there is no file, or an empty one. */
bool store_file_is_empty(const char *path);
/* NULL is fine. */
void store_file_close(struct store_file *file);

/* Limits the file's size in bytes, not counting what is not yet moved into it; a change beyond it
 * is −ENOSPC. */
void store_file_bound(struct store_file *file, uint64_t bytes);

/* Pieces of encoded changes (row_encode), in order, in one transaction: all or none. */
struct store_piece {
    const uint8_t *at;
    size_t length;
};
int store_file_apply(struct store_file *file, const struct store_piece *pieces, size_t n,
                     struct err *err);

/* The newest commit; its number is 0 in a file without any. store_file_apply and store_file_end
 * change it. */
const struct store_commit *store_file_newest(const struct store_file *file);

/* Reads a table in the order of its keys, checking each row. One cursor per table at a time. */
struct store_cursor;
int store_cursor_open(struct store_file *file, unsigned table, struct store_cursor **ret_cursor,
                      struct err *err);
/* 1 and a row, whose values are borrowed until the next call; 0 at the end; −EBADMSG: a row is
 * damaged, or, at the end, rows are missing. Between open and end only other transactions may
 * write. */
int store_cursor_next(struct store_cursor *cursor, struct row_value *ret_values, struct err *err);
void store_cursor_close(struct store_cursor *cursor);

/* Reads and checks everything: SQLite's own structure, then each row's hash. −EBADMSG names the
 * first error. */
int store_file_check(struct store_file *file, uint64_t *ret_rows, struct err *err);

/* Copies everything committed so far into a new file with mode 0600; others may write meanwhile.
 * −EEXIST. */
int store_file_copy(struct store_file *file, const char *to, struct err *err);
/* −EEXIST as store_file_copy, if the file is there now. */
int store_file_absent(const char *to, struct err *err);

/* From any thread: what runs on this connection soon ends with −EIO. */
void store_file_interrupt(struct store_file *file);

/* Rows that pruning removes in one transaction, so that a commit that waits for it waits little. */
#define STORE_PRUNE_MOST 256

/* A transaction of the owner's. store_file_end commits it if `r` is no error: returns r, or why it
 * failed (then nothing is changed); store_file_abandon ends one that changed nothing. */
int store_file_begin(struct store_file *file, struct err *err);
int store_file_end(struct store_file *file, int r, struct err *err);
void store_file_abandon(struct store_file *file);
/* Within one: runs one of the owner's statements with one number or two, which deletes rows of
 * `table` and returns their `hash`. Returns how many rows it deleted, or −errno. `sql` is a
 * constant: it is prepared once per pointer, at most 32 of them. */
int store_file_remove(struct store_file *file, unsigned table, const char *sql, int64_t first,
                      int64_t second, struct err *err);
/* Runs a statement that changes no row. */
int store_file_run(struct store_file *file, const char *sql, struct err *err);
/* The first column of the statement's first row; `otherwise` if there is none. */
int64_t store_file_ask(struct store_file *file, const char *sql, int64_t first, int64_t otherwise);
