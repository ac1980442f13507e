#include "controller/store/store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    APPLICATION = 0x64756f70, /* "duop": what `file` shows */
    BUSY_MS = 5000,           /* somebody reads the file with another program */
    WAL_BYTES = 64 << 20,     /* kept of the log once it was longer */
    OWN_MAX = 32,             /* statements of the owner */
};

struct store_file {
    char path[512];
    const struct store_schema *schema;
    sqlite3 *db;
    sqlite3_stmt **put, **delete; /* by table; delete: by the number of key columns, up to 4 */
    struct {
        const char *sql;
        sqlite3_stmt *statement;
    } own[OWN_MAX];
    struct row_bytes room;
};

struct store_cursor {
    struct store_file *file;
    unsigned table;
    sqlite3_stmt *statement;
};

enum { KEYS_MAX = 4 };

static int code_of(int sqlite)
{
    switch (sqlite & 0xff) {
    case SQLITE_FULL:
        return ENOSPC;
    case SQLITE_NOMEM:
        return ENOMEM;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return EBADMSG;
    case SQLITE_READONLY:
        return EROFS;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return EBUSY;
    default:
        return EIO;
    }
}

/* A write that the disk has no room for is an I/O error to SQLite, which does not always say of which
 * kind. */
static bool disk_full(const struct store_file *file)
{
    struct statvfs disk;
    return statvfs(file->path, &disk) == 0 && disk.f_bavail == 0;
}

static int fail(const struct store_file *file, const char *what, struct err *err)
{
    int code = file->db ? sqlite3_extended_errcode(file->db) : SQLITE_NOMEM;
    int system = file->db ? sqlite3_system_errno(file->db) : ENOMEM;
    if ((code & 0xff) == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT || disk_full(file)))
        return err_set(err, ENOSPC, "%s %s: no space left on its disk", file->path, what);
    return err_set(err, code_of(code), "%s %s: %s", file->path, what,
                   file->db ? sqlite3_errmsg(file->db) : "out of memory");
}

static int run(struct store_file *file, const char *sql, struct err *err)
{
    if (sqlite3_exec(file->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return fail(file, "cannot be written", err);
}

static int64_t pragma(struct store_file *file, const char *sql)
{
    sqlite3_stmt *statement;
    int64_t value = -1;
    if (sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static const char *type_name(enum column_type type)
{
    return type == COLUMN_NUMBER ? "INTEGER" : type == COLUMN_TEXT ? "TEXT" : "BLOB";
}

static int table_make(struct store_file *file, const struct row_table *table, struct err *err)
{
    char sql[2048];
    int n = snprintf(sql, sizeof(sql), "CREATE TABLE %s (", table->name);
    for (unsigned i = 0; i < table->columns; i++)
        n += snprintf(sql + n, sizeof(sql) - (size_t)n, "%s %s NOT NULL, ", table->column[i].name,
                      type_name(table->column[i].type));
    n += snprintf(sql + n, sizeof(sql) - (size_t)n, "hash INTEGER NOT NULL, PRIMARY KEY (");
    for (unsigned i = 0; i < table->keys; i++)
        n += snprintf(sql + n, sizeof(sql) - (size_t)n, "%s%s", i ? ", " : "",
                      table->column[i].name);
    snprintf(sql + n, sizeof(sql) - (size_t)n, ")) STRICT, WITHOUT ROWID");
    return run(file, sql, err);
}

static int version_set(struct store_file *file, struct err *err)
{
    char sql[96];
    snprintf(sql, sizeof(sql), "PRAGMA application_id=%d; PRAGMA user_version=%d", APPLICATION,
             file->schema->version);
    return run(file, sql, err);
}

static int tables_make(struct store_file *file, struct err *err)
{
    int r = 0;
    for (unsigned i = 0; i < file->schema->n_tables && r == 0; i++)
        r = table_make(file, &file->schema->tables[i], err);
    return r;
}

static int migrate(struct store_file *file, int64_t from, struct err *err)
{
    char copy[sizeof(file->path) + 16];
    int r;
    snprintf(copy, sizeof(copy), "%s.v%" PRId64, file->path, from);
    if (unlink(copy) < 0 && errno != ENOENT)
        return err_sys(err, errno, "%s", copy);
    r = store_file_copy(file, copy, err);
    r = r < 0 ? r : run(file, "BEGIN IMMEDIATE", err);
    for (int64_t version = from; version < file->schema->version && r == 0; version++)
        r = run(file, file->schema->migrations[version], err);
    return r < 0 ? r : version_set(file, err);
}

/* A new file gets its tables, an older one is brought up to date; in one transaction either way. */
static int schema_settle(struct store_file *file, struct err *err)
{
    int64_t version = pragma(file, "PRAGMA user_version");
    int64_t tables = pragma(file, "SELECT count(*) FROM sqlite_schema");
    if (tables < 0)
        return fail(file, "cannot be read", err);
    if (version == file->schema->version)
        return 0;
    if (version > file->schema->version)
        return err_set(err, EPROTO,
                       "%s has version %" PRId64 ", this program knows up to %d: use the program "
                       "that wrote it, or a later one",
                       file->path, version, file->schema->version);
    if (version == 0 && tables > 0)
        return err_set(err, EBADMSG, "%s is a database of something else", file->path);
    int r = version ? migrate(file, version, err) : run(file, "BEGIN IMMEDIATE", err);
    if (r == 0 && !version && (r = tables_make(file, err)) == 0)
        r = version_set(file, err);
    r = r < 0 ? r : run(file, "COMMIT", err);
    if (r < 0)
        sqlite3_exec(file->db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

static int statement_make(struct store_file *file, const char *sql, sqlite3_stmt **ret_statement,
                          struct err *err)
{
    if (sqlite3_prepare_v3(file->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_statement, NULL) ==
        SQLITE_OK)
        return 0;
    return fail(file, "has not the tables that it should have", err);
}

static int statements_make(struct store_file *file, unsigned at, struct err *err)
{
    const struct row_table *table = &file->schema->tables[at];
    char sql[512];
    int n = snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO %s VALUES (", table->name);
    for (unsigned i = 0; i <= table->columns; i++)
        n += snprintf(sql + n, sizeof(sql) - (size_t)n, "%s", i < table->columns ? "?," : "?)");
    int r = statement_make(file, sql, &file->put[at], err);
    n = snprintf(sql, sizeof(sql), "DELETE FROM %s", table->name);
    for (unsigned keys = 1; keys <= table->keys && r == 0; keys++) {
        n += snprintf(sql + n, sizeof(sql) - (size_t)n, " %s %s=?", keys == 1 ? "WHERE" : "AND",
                      table->column[keys - 1].name);
        r = statement_make(file, sql, &file->delete[at * KEYS_MAX + keys - 1], err);
    }
    return r;
}

static int connect(struct store_file *file, const char *vfs, struct err *err)
{
    int r = sqlite3_open_v2(file->path, &file->db,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs);
    if (r != SQLITE_OK)
        return fail(file, "cannot be opened", err);
    sqlite3_busy_timeout(file->db, BUSY_MS);
    if ((r = run(file, "PRAGMA auto_vacuum=INCREMENTAL", err)) < 0 ||
        (r = run(file, "PRAGMA journal_mode=WAL", err)) < 0 ||
        (r = run(file, "PRAGMA synchronous=FULL", err)) < 0)
        return r;
    char sql[64];
    snprintf(sql, sizeof(sql), "PRAGMA journal_size_limit=%d", WAL_BYTES);
    return run(file, sql, err);
}

int store_file_open(const char *path, const char *vfs, const struct store_schema *schema,
                    struct store_file **ret_file, struct err *err)
{
    struct store_file *file = calloc(1, sizeof(*file));
    if (!file)
        return err_sys(err, ENOMEM, "%s", path);
    snprintf(file->path, sizeof(file->path), "%s", path);
    file->schema = schema;
    file->put = calloc(schema->n_tables, sizeof(sqlite3_stmt *));
    file->delete = calloc((size_t)schema->n_tables * KEYS_MAX, sizeof(sqlite3_stmt *));
    int r = file->put && file->delete ? connect(file, vfs, err) : err_sys(err, ENOMEM, "%s", path);
    if (r == 0)
        r = schema_settle(file, err);
    for (unsigned i = 0; i < schema->n_tables && r == 0; i++)
        r = statements_make(file, i, err);
    if (r < 0) {
        store_file_close(file);
        return r;
    }
    *ret_file = file;
    return 0;
}

void store_file_close(struct store_file *file)
{
    if (!file)
        return;
    for (unsigned i = 0; file->put && i < file->schema->n_tables; i++)
        sqlite3_finalize(file->put[i]);
    for (unsigned i = 0; file->delete &&i < file->schema->n_tables * KEYS_MAX; i++)
        sqlite3_finalize(file->delete[i]);
    for (unsigned i = 0; i < OWN_MAX; i++)
        sqlite3_finalize(file->own[i].statement);
    sqlite3_close(file->db);
    row_bytes_done(&file->room);
    free(file->put);
    free(file->delete);
    free(file);
}

void store_file_bound(struct store_file *file, uint64_t bytes)
{
    char sql[64];
    int64_t page = pragma(file, "PRAGMA page_size");
    snprintf(sql, sizeof(sql), "PRAGMA max_page_count=%" PRIu64,
             bytes / (uint64_t)(page > 0 ? page : 4096));
    pragma(file, sql);
}

static void value_bind(sqlite3_stmt *statement, unsigned at, enum column_type type,
                       const struct row_value *value)
{
    if (type == COLUMN_NUMBER)
        sqlite3_bind_int64(statement, (int)at + 1, value->number);
    else if (type == COLUMN_TEXT)
        sqlite3_bind_text(statement, (int)at + 1, value->at ? value->at : "", (int)value->length,
                          SQLITE_STATIC);
    else if (value->length)
        sqlite3_bind_blob(statement, (int)at + 1, value->at, (int)value->length, SQLITE_STATIC);
    else
        sqlite3_bind_zeroblob(statement, (int)at + 1, 0);
}

static int change_apply(struct store_file *file, const struct row_decoded *row, struct err *err)
{
    const struct row_table *table = &file->schema->tables[row->table];
    sqlite3_stmt *statement = row->change == ROW_PUT
                                  ? file->put[row->table]
                                  : file->delete[row->table * KEYS_MAX + row->columns - 1];
    for (unsigned i = 0; i < row->columns; i++)
        value_bind(statement, i, table->column[i].type, &row->values[i]);
    if (row->change == ROW_PUT)
        sqlite3_bind_int64(statement, (int)row->columns + 1, row->hash);
    int r = sqlite3_step(statement) == SQLITE_DONE ? 0 : fail(file, "cannot be written", err);
    sqlite3_reset(statement);
    return r;
}

static int piece_apply(struct store_file *file, const struct store_piece *piece, struct err *err)
{
    struct row_decoded row;
    int r = 0;
    for (size_t at = 0; at < piece->length && r == 0;) {
        at += row_decode(file->schema->tables, piece->at + at, &row);
        r = change_apply(file, &row, err);
    }
    return r;
}

int store_file_apply(struct store_file *file, const struct store_piece *pieces, size_t n,
                     struct err *err)
{
    int r = run(file, "BEGIN IMMEDIATE", err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = piece_apply(file, &pieces[i], err);
    if (r == 0)
        r = run(file, "COMMIT", err);
    if (r < 0)
        sqlite3_exec(file->db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

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
    int r = statement_make(file, sql, &cursor->statement, err);
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

int store_cursor_next(struct store_cursor *cursor, struct row_value *ret_values, struct err *err)
{
    struct store_file *file = cursor->file;
    const struct row_table *table = &file->schema->tables[cursor->table];
    int r = sqlite3_step(cursor->statement);
    if (r == SQLITE_DONE)
        return 0;
    if (r != SQLITE_ROW)
        return fail(file, "cannot be read", err);
    values_read(cursor, ret_values);
    int64_t hash = row_hash(file->schema->tables, cursor->table, ret_values, &file->room);
    if (file->room.failed)
        return err_sys(err, ENOMEM, "%s", file->path);
    return hash == sqlite3_column_int64(cursor->statement, (int)table->columns)
               ? 1
               : damaged(cursor, ret_values, err);
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
    int r = statement_make(file, "PRAGMA integrity_check(1)", &statement, err);
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

/* WHY hashes first: they name the row, SQLite's own check a page at best. */
int store_file_check(struct store_file *file, uint64_t *ret_rows, struct err *err)
{
    int r = 0;
    *ret_rows = 0;
    for (unsigned i = 0; i < file->schema->n_tables && r == 0; i++)
        r = table_check(file, i, ret_rows, err);
    return r < 0 ? r : structure_check(file, err);
}

/* SQLite leaves the copy to the system's own pace. */
static int copy_sync(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r = fd >= 0 && fsync(fd) == 0 ? 0 : err_sys(err, errno, "%s", path);
    if (fd >= 0)
        close(fd);
    return r;
}

/* WHY before it is written: it never has another mode than this. */
static int copy_begin(const char *to, struct err *err)
{
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? err_set(err, EEXIST, "%s is there already: name a new file", to)
                               : err_sys(err, errno, "%s cannot be made by the controller", to);
    close(fd);
    return 0;
}

void store_file_interrupt(struct store_file *file)
{
    sqlite3_interrupt(file->db);
}

int store_file_copy(struct store_file *file, const char *to, struct err *err)
{
    sqlite3_stmt *statement;
    int r = copy_begin(to, err);
    if (r < 0)
        return r;
    if ((r = statement_make(file, "VACUUM INTO ?", &statement, err)) < 0) {
        unlink(to);
        return r;
    }
    sqlite3_bind_text(statement, 1, to, -1, SQLITE_STATIC);
    r = sqlite3_step(statement) == SQLITE_DONE ? 0 : fail(file, "cannot be copied", err);
    sqlite3_finalize(statement);
    r = r < 0 ? r : copy_sync(to, err);
    if (r < 0)
        unlink(to);
    return r;
}

static sqlite3_stmt *own_statement(struct store_file *file, const char *sql)
{
    for (unsigned i = 0; i < OWN_MAX; i++) {
        if (file->own[i].sql == sql)
            return file->own[i].statement;
        if (file->own[i].sql)
            continue;
        if (statement_make(file, sql, &file->own[i].statement, NULL) < 0)
            return NULL;
        file->own[i].sql = sql;
        return file->own[i].statement;
    }
    return NULL;
}

int store_file_run(struct store_file *file, const char *sql, int64_t first, int64_t second,
                   struct err *err)
{
    sqlite3_stmt *statement = own_statement(file, sql);
    if (!statement)
        return fail(file, "cannot be used", err);
    int wanted = sqlite3_bind_parameter_count(statement), r;
    if (wanted > 0)
        sqlite3_bind_int64(statement, 1, first);
    if (wanted > 1)
        sqlite3_bind_int64(statement, 2, second);
    while ((r = sqlite3_step(statement)) == SQLITE_ROW)
        ;
    r = r == SQLITE_DONE ? sqlite3_changes(file->db) : fail(file, "cannot be written", err);
    sqlite3_reset(statement);
    return r;
}

int64_t store_file_ask(struct store_file *file, const char *sql, int64_t first, int64_t otherwise)
{
    sqlite3_stmt *statement = own_statement(file, sql);
    int64_t value = otherwise;
    if (!statement)
        return otherwise;
    if (sqlite3_bind_parameter_count(statement) > 0)
        sqlite3_bind_int64(statement, 1, first);
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return value;
}
