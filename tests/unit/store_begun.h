/* A store in the test's folder, and what other programs do to its file. */
#pragma once

#include "tests/unit/folder.h"

#include "controller/store/store.h"

#include <sqlite3.h>

static const struct store_bounds bounds = {
    .keep_ns = INT64_C(1) << 60, .finished_max = 1000, .bytes_max = UINT64_C(1) << 30};

static inline struct store *store_at(const char *name)
{
    struct store *store;
    struct err err;
    if (store_open(path_of(name), NULL, &bounds, &store, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

static inline struct store *begun_at(const char *name)
{
    struct store *store = store_at(name);
    assert_int_equal(store_begin(store, NULL, NULL, NULL, NULL), 0);
    return store;
}

static inline void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}
