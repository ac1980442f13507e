/* Files of the store's other versions: an older one is migrated beside a copy, a later one is
 * refused and not touched. */
#include "tests/unit/store_begun.h"

#include <errno.h>
#include <stdlib.h>

static void a_later_version_is_refused_and_not_touched(void **state)
{
    (void)state;
    struct store *store = begun_at("later");
    struct store_file *file;
    struct err err;
    store_set(store, "drain", "h1", "yes");
    store_close(store, NULL);
    run_sql(path_of("later"), "PRAGMA user_version=9");
    assert_int_equal(store_open(path_of("later"), NULL, &bounds, &store, &err), -EPROTO);
    assert_non_null(strstr(err.text, "has version 9, this program knows up to 5: use"));
    run_sql(path_of("later"), "PRAGMA user_version=5");
    store = store_at("later");
    assert_string_equal(store_setting(store, "drain", "h1"), "yes");
    store_close(store, NULL);
    run_sql(path_of("other"), "CREATE TABLE recipes(name)");
    assert_int_equal(store_open(path_of("other"), NULL, &bounds, &store, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "is a database of something else"));
    assert_int_equal(store_file_open(folder, NULL, &store_schema, &file, &err), -EIO);
}

/* The schema of a later program: one column more in a table of two. */
static const struct row_table first_tables[] = {
    {"things", 1, 2, {{"n", COLUMN_NUMBER}, {"word", COLUMN_TEXT}}}};
static const struct store_schema first_schema = {first_tables, 1, 1, NULL};
static const struct row_table second_tables[] = {
    {"things", 1, 2, {{"n", COLUMN_NUMBER}, {"word", COLUMN_TEXT}}},
    {"more", 1, 1, {{"n", COLUMN_NUMBER}}}};
static const char *second_migration;

static int second_open(struct store_file **ret_file, struct err *err)
{
    const char *const migrations[] = {NULL, second_migration};
    const struct store_schema schema = {second_tables, 2, 2, migrations};
    struct store_schema *copy = malloc(sizeof(*copy));
    *copy = schema;
    int r = store_file_open(path_of("older"), NULL, copy, ret_file, err);
    if (r == 0)
        store_file_close(*ret_file);
    free(copy);
    return r;
}

static int version_of(const char *name)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(path_of(name), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int version = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return version;
}

/* All of it or nothing; what was stands beside it. */
static void an_older_version_is_migrated_beside_a_copy(void **state)
{
    (void)state;
    struct store_file *file;
    struct row_bytes bytes = {0};
    struct err err;
    const struct row_value row[] = {ROW_NUMBER(1), row_text("one")};
    assert_int_equal(store_file_open(path_of("older"), NULL, &first_schema, &file, &err), 0);
    row_encode(first_tables, 0, ROW_PUT, row, 2, &bytes);
    const struct store_piece piece = {bytes.at, bytes.used};
    assert_int_equal(store_file_apply(file, &piece, 1, &err), 0);
    store_file_close(file);
    second_migration = "CREATE TABLE more (n INTEGER NOT NULL, hash INTEGER NOT NULL, "
                       "PRIMARY KEY (n)) STRICT, WITHOUT ROWID; this is no SQL";
    assert_true(second_open(&file, &err) < 0);
    assert_int_equal(version_of("older"), 1);
    second_migration = "CREATE TABLE more (n INTEGER NOT NULL, hash INTEGER NOT NULL, "
                       "PRIMARY KEY (n)) STRICT, WITHOUT ROWID";
    assert_int_equal(second_open(&file, &err), 0);
    assert_int_equal(version_of("older"), 2);
    assert_int_equal(version_of("older.v1"), 1);
    row_bytes_done(&bytes);
}

static void put_one(struct store_file *file, enum store_table table, const struct row_value *row)
{
    struct row_bytes bytes = {0};
    struct err err;
    row_encode(store_schema.tables, table, ROW_PUT, row, store_schema.tables[table].columns,
               &bytes);
    if (store_file_apply(file, &(struct store_piece){bytes.at, bytes.used}, 1, &err) < 0)
        fail_msg("%s", err.text);
    row_bytes_done(&bytes);
}

/* What an older version wrote is there, and a table that came since may be written. */
static void brought_up_to_date(const char *name, const struct store_schema *older,
                               enum store_table known, const struct row_value *row,
                               const struct row_value *newer)
{
    const enum store_table added = (enum store_table)older->n_tables;
    struct store_file *file;
    struct err err;
    uint64_t rows = 0;
    assert_int_equal(store_file_open(path_of(name), NULL, older, &file, &err), 0);
    put_one(file, known, row);
    store_file_close(file);
    if (store_file_open(path_of(name), NULL, &store_schema, &file, &err) < 0)
        fail_msg("%s", err.text);
    put_one(file, added, newer);
    assert_int_equal(store_file_check(file, &rows, &err), 0);
    assert_int_equal(rows, 2);
    store_file_close(file);
}

static void the_first_version_is_brought_up_to_date(void **state)
{
    (void)state;
    const struct store_schema first = {store_schema.tables, STORE_SIZES, 1, NULL};
    const struct row_value drain[SETTINGS_COLUMNS] = {row_text("drain"), row_text("h1"),
                                                      row_text("yes")};
    const struct row_value sizes[SIZES_COLUMNS] = {ROW_NUMBER(-1), ROW_NUMBER(15), ROW_NUMBER(9)};
    brought_up_to_date("first", &first, STORE_SETTINGS, drain, sizes);
}

static void the_third_version_is_brought_up_to_date(void **state)
{
    (void)state;
    const struct store_schema third = {store_schema.tables, STORE_PROFILES, 3, NULL};
    const struct row_value sizes[SIZES_COLUMNS] = {ROW_NUMBER(-1), ROW_NUMBER(15), ROW_NUMBER(9)};
    const struct row_value learnt[PROFILES_COLUMNS] = {
        ROW_NUMBER(-1), ROW_NUMBER(1),  ROW_NUMBER(3), ROW_NUMBER(64), ROW_NUMBER(32),
        ROW_NUMBER(1),  ROW_NUMBER(77), ROW_NUMBER(5), ROW_NUMBER(9)};
    brought_up_to_date("third", &third, STORE_SIZES, sizes, learnt);
}

static void the_fourth_version_is_brought_up_to_date(void **state)
{
    (void)state;
    const struct store_schema fourth = {store_schema.tables, STORE_SPLITS, 4, NULL};
    const struct row_value sizes[SIZES_COLUMNS] = {ROW_NUMBER(-1), ROW_NUMBER(15), ROW_NUMBER(9)};
    const struct row_value split[SPLITS_COLUMNS] = {[SPLITS_JOB] = ROW_NUMBER(-1),
                                                    [SPLITS_STAGE] = ROW_NUMBER(UINT32_MAX),
                                                    [SPLITS_TURN] = ROW_NUMBER(5),
                                                    [SPLITS_MOVED] = ROW_NUMBER(9)};
    brought_up_to_date("fourth", &fourth, STORE_SIZES, sizes, split);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_later_version_is_refused_and_not_touched),
        cmocka_unit_test(an_older_version_is_migrated_beside_a_copy),
        cmocka_unit_test(the_first_version_is_brought_up_to_date),
        cmocka_unit_test(the_third_version_is_brought_up_to_date),
        cmocka_unit_test(the_fourth_version_is_brought_up_to_date),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
