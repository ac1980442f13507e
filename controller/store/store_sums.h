/* What the store's file should contain: for each table the number of rows and the sum of their
 * hashes, with the number of the commit that made it so.
 *
 * WHY: a row's hash finds a changed row, not a missing one. A page that was not written, a cell
 * count with a flipped bit, or a log that ends early (SQLite takes the first frame with a wrong
 * checksum for its end) lose rows, and the rest looks sound. The sums are a row in the same
 * transaction as what they sum up, so they are right after every crash.
 *
 * A sum of hashes (mod 2⁶⁴) does not depend on the order of rows: each change costs O(1).
 *
 * Functions with a database return SQLite's codes. */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

enum { STORE_SUMS_TABLES = 16 };

/* A commit: counted from 1, and when it was made (wall clock). */
struct store_commit {
    uint64_t n;
    int64_t at_ns;
};

struct store_sum {
    uint64_t rows, hashes;
};

struct store_sums {
    struct store_commit newest;
    struct store_sum of[STORE_SUMS_TABLES];
};

static inline void store_sum_add(struct store_sum *sum, int64_t hash)
{
    sum->rows++;
    sum->hashes += (uint64_t)hash;
}

static inline void store_sum_remove(struct store_sum *sum, int64_t hash)
{
    sum->rows--;
    sum->hashes -= (uint64_t)hash;
}

/* Makes the table if it is missing. */
int store_sums_make(sqlite3 *db);
/* SQLITE_NOTFOUND: there is no row; SQLITE_CORRUPT: it is damaged. */
int store_sums_read(sqlite3 *db, struct store_sums *ret_sums);
/* The statement for store_sums_write; the caller finalizes it. */
int store_sums_prepare(sqlite3 *db, sqlite3_stmt **ret_put);
/* Part of the open transaction. */
int store_sums_write(sqlite3_stmt *put, const struct store_sums *sums);
