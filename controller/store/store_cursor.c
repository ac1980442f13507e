#include "controller/store/store_file_inside.h"

#include "lib/plural.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct store_cursor {
    struct store_file *file;
    unsigned table;
    sqlite3_stmt *statement;
    struct store_sum seen;
};

int store_cursor_open(struct store_file *file, unsigned at, struct store_cursor **ret_cursor,
                      struct err *err)
{
    const struct row_table *table = &file->schema->tables[at];
    char sql[512];
    int n = snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY ", table->name);
    for (unsigned i = 0; i < table->keys; i++)
        n += snprintf(sql + n, sizeof(sql) - (size_t)n, "%s%s", i ? ", " : "",
                      table->column[i].name);
    struct store_cursor *cursor = calloc(1, sizeof(*cursor));
    if (!cursor)
        return err_sys(err, ENOMEM, "%s", file->path);
    *cursor = (struct store_cursor){.file = file, .table = at};
    int r = store_file_statement(file, sql, &cursor->statement, err);
    if (r < 0) {
        free(cursor);
        return r;
    }
    *ret_cursor = cursor;
    return 0;
}

/* Which row: its key in words. */
static int damaged(const struct store_cursor *cursor, const struct row_value *values,
                   struct err *err)
{
    const struct row_table *table = &cursor->file->schema->tables[cursor->table];
    char key[256] = "";
    for (unsigned i = 0; i < table->keys; i++) {
        size_t used = strlen(key);
        if (table->column[i].type == COLUMN_NUMBER)
            snprintf(key + used, sizeof(key) - used, " %s %" PRId64, table->column[i].name,
                     values[i].number);
        else
            snprintf(key + used, sizeof(key) - used, " %s %.*s", table->column[i].name,
                     (int)values[i].length, (const char *)values[i].at);
    }
    return err_set(err, EBADMSG,
                   "%s is damaged: in table %s the row with%s does not have the hash that it was "
                   "written with; go on with a backup (duopolyd --restore)",
                   cursor->file->path, table->name, key);
}

static void values_read(const struct store_cursor *cursor, struct row_value *ret_values)
{
    const struct row_table *table = &cursor->file->schema->tables[cursor->table];
    for (unsigned i = 0; i < table->columns; i++) {
        ret_values[i] = (struct row_value){0};
        if (table->column[i].type == COLUMN_NUMBER) {
            ret_values[i].number = sqlite3_column_int64(cursor->statement, (int)i);
            continue;
        }
        ret_values[i].at = table->column[i].type == COLUMN_TEXT
                               ? (const void *)sqlite3_column_text(cursor->statement, (int)i)
                               : sqlite3_column_blob(cursor->statement, (int)i);
        ret_values[i].length = (size_t)sqlite3_column_bytes(cursor->statement, (int)i);
    }
}

int store_cursor_row(struct store_cursor *cursor, struct row_value *ret_values, struct err *err)
{
    struct store_file *file = cursor->file;
    const struct row_table *table = &file->schema->tables[cursor->table];
    int r = sqlite3_step(cursor->statement);
    if (r == SQLITE_DONE)
        return 0;
    if (r != SQLITE_ROW)
        return store_file_fail(file, "cannot be read", err);
    values_read(cursor, ret_values);
    int64_t hash = row_hash(file->schema->tables, cursor->table, ret_values, &file->room);
    if (file->room.failed)
        return err_sys(err, ENOMEM, "%s", file->path);
    store_sum_add(&cursor->seen, hash);
    return hash == sqlite3_column_int64(cursor->statement, (int)table->columns)
               ? 1
               : damaged(cursor, ret_values, err);
}

const struct store_sum *store_cursor_seen(const struct store_cursor *cursor)
{
    return &cursor->seen;
}

/* At its end: the rows are those that were written, each once. */
static int table_judge(const struct store_cursor *cursor, struct err *err)
{
    const struct store_sum *seen = &cursor->seen;
    const struct store_sum *is = &cursor->file->sums.of[cursor->table];
    const char *table = cursor->file->schema->tables[cursor->table].name;
    if (seen->rows != is->rows)
        return err_set(err, EBADMSG,
                       "%s is damaged: table %s has %" PRIu64 " row%s, %" PRIu64
                       " %s written; go on with a backup (duopolyd --restore FILE)",
                       cursor->file->path, table, seen->rows, plural(seen->rows), is->rows,
                       is->rows == 1 ? "was" : "were");
    return seen->hashes == is->hashes
               ? 0
               : err_set(err, EBADMSG,
                         "%s is damaged: the rows of table %s are not those that were written; go "
                         "on with a backup (duopolyd --restore FILE)",
                         cursor->file->path, table);
}

int store_cursor_next(struct store_cursor *cursor, struct row_value *ret_values, struct err *err)
{
    int r = store_cursor_row(cursor, ret_values, err);
    return r ? r : table_judge(cursor, err);
}

void store_cursor_close(struct store_cursor *cursor)
{
    if (!cursor)
        return;
    sqlite3_finalize(cursor->statement);
    free(cursor);
}

static int structure_check(struct store_file *file, struct err *err)
{
    sqlite3_stmt *statement;
    int r = store_file_statement(file, "PRAGMA integrity_check(1)", &statement, err);
    if (r < 0)
        return r;
    const char *said = sqlite3_step(statement) == SQLITE_ROW
                           ? (const char *)sqlite3_column_text(statement, 0)
                           : NULL;
    if (!said || strcmp(said, "ok") != 0)
        r = err_set(err, EBADMSG, "%s is damaged: %s", file->path,
                    said ? said : sqlite3_errmsg(file->db));
    sqlite3_finalize(statement);
    return r;
}

static int table_check(struct store_file *file, unsigned table, uint64_t *rows, struct err *err)
{
    struct row_value values[ROW_COLUMNS_MAX];
    struct store_cursor *cursor;
    int r = store_cursor_open(file, table, &cursor, err);
    if (r < 0)
        return r;
    while ((r = store_cursor_next(cursor, values, err)) > 0)
        ++*rows;
    store_cursor_close(cursor);
    return r;
}

/* WHY hashes first: they name the row, SQLite's own check at best a page. WHY one transaction:
 * others write meanwhile. */
int store_file_check(struct store_file *file, uint64_t *ret_rows, struct err *err)
{
    int r = store_file_run(file, "BEGIN", err);
    *ret_rows = 0;
    r = r < 0 ? r : store_file_sums(file, err);
    for (unsigned i = 0; i < file->schema->n_tables && r == 0; i++)
        r = table_check(file, i, ret_rows, err);
    r = r < 0 ? r : structure_check(file, err);
    sqlite3_exec(file->db, "COMMIT", NULL, NULL, NULL);
    return r;
}
