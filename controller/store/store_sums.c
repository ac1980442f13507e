#include "controller/store/store_sums.h"

#include <string.h>
#include <xxhash.h>

int store_sums_make(sqlite3 *db)
{
    return sqlite3_exec(db,
                        "CREATE TABLE IF NOT EXISTS sums (id INTEGER PRIMARY KEY, content BLOB NOT "
                        "NULL, hash INTEGER NOT NULL) STRICT",
                        NULL, NULL, NULL);
}

static int64_t hash_of(const struct store_sums *sums)
{
    return (int64_t)XXH3_64bits(sums, sizeof(*sums));
}

static int row_read(sqlite3_stmt *statement, struct store_sums *ret_sums)
{
    if (sqlite3_column_bytes(statement, 0) != (int)sizeof(*ret_sums))
        return SQLITE_CORRUPT;
    memcpy(ret_sums, sqlite3_column_blob(statement, 0), sizeof(*ret_sums));
    return hash_of(ret_sums) == sqlite3_column_int64(statement, 1) ? SQLITE_OK : SQLITE_CORRUPT;
}

int store_sums_read(sqlite3 *db, struct store_sums *ret_sums)
{
    sqlite3_stmt *statement;
    int r =
        sqlite3_prepare_v2(db, "SELECT content, hash FROM sums WHERE id=0", -1, &statement, NULL);
    if (r != SQLITE_OK)
        return r;
    r = sqlite3_step(statement);
    r = r == SQLITE_ROW ? row_read(statement, ret_sums) : r == SQLITE_DONE ? SQLITE_NOTFOUND : r;
    sqlite3_finalize(statement);
    return r;
}

int store_sums_prepare(sqlite3 *db, sqlite3_stmt **ret_put)
{
    return sqlite3_prepare_v3(db, "INSERT OR REPLACE INTO sums VALUES (0, ?, ?)", -1,
                              SQLITE_PREPARE_PERSISTENT, ret_put, NULL);
}

int store_sums_write(sqlite3_stmt *put, const struct store_sums *sums)
{
    sqlite3_bind_blob(put, 1, sums, sizeof(*sums), SQLITE_STATIC);
    sqlite3_bind_int64(put, 2, hash_of(sums));
    int r = sqlite3_step(put);
    sqlite3_reset(put);
    return r == SQLITE_DONE ? SQLITE_OK : r;
}
