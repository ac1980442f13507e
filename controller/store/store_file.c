#include "controller/store/store_file_inside.h"

#include "lib/now.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum {
    APPLICATION = 0x64756f70, /* "duop": what `file` shows */
    BUSY_MS = 5000,           /* another program reads the file */
    WAL_BYTES = 64 << 20,     /* kept of the log once it was longer */
    INCREMENTAL = 2,          /* of PRAGMA auto_vacuum */
};

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

/* To SQLite a write without disk space is an I/O error, often without its kind. */
static bool disk_full(const struct store_file *file)
{
    struct statvfs disk;
    return statvfs(file->path, &disk) == 0 && disk.f_bavail == 0;
}

int store_file_fail(const struct store_file *file, const char *what, struct err *err)
{
    int code = file->db ? sqlite3_extended_errcode(file->db) : SQLITE_NOMEM;
    int system = file->db ? sqlite3_system_errno(file->db) : ENOMEM;
    bool io = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
    if (io && (system == ENOSPC || system == EDQUOT || disk_full(file)))
        return err_set(err, ENOSPC, "%s %s: no space left on its disk", file->path, what);
    return err_set(err, code_of(code), "%s %s: %s%s", file->path, what,
                   file->db ? sqlite3_errmsg(file->db) : "out of memory",
                   code_of(code) == EBADMSG ? "; go on with a backup (duopolyd --restore FILE)"
                                            : "");
}

static int run(struct store_file *file, const char *sql, struct err *err)
{
    if (sqlite3_exec(file->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return store_file_fail(file, "cannot be written", err);
}

int64_t store_file_number(struct store_file *file, const char *sql)
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

/* In the transaction that is open. */
static int sums_put(struct store_file *file, struct err *err)
{
    if (!file->sums_put && store_sums_prepare(file->db, &file->sums_put) != SQLITE_OK)
        return store_file_fail(file, "cannot count its rows", err);
    file->next.newest =
        (struct store_commit){file->sums.newest.n + 1, (int64_t)now_ns(CLOCK_REALTIME)};
    return store_sums_write(file->sums_put, &file->next) == SQLITE_OK
               ? 0
               : store_file_fail(file, "cannot be written", err);
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
    int r = store_sums_make(file->db) == SQLITE_OK
                ? 0
                : store_file_fail(file, "cannot be written", err);
    for (unsigned i = 0; i < file->schema->n_tables && r == 0; i++)
        r = table_make(file, &file->schema->tables[i], err);
    return r < 0 ? r : sums_put(file, err);
}

/* Counts rows that an older program wrote without counting. */
static int table_count(struct store_file *file, unsigned at, struct err *err)
{
    struct row_value values[ROW_COLUMNS_MAX];
    struct store_cursor *cursor;
    int r = store_cursor_open(file, at, &cursor, err);
    if (r < 0)
        return r;
    while ((r = store_cursor_row(cursor, values, err)) > 0)
        ;
    file->next.of[at] = *store_cursor_seen(cursor);
    store_cursor_close(cursor);
    return r;
}

/* A file that has its sums keeps them: tests have schemas of several versions. */
static int tables_count(struct store_file *file, struct err *err)
{
    int r = store_sums_make(file->db) == SQLITE_OK
                ? 0
                : store_file_fail(file, "cannot be written", err);
    if (r < 0 || store_sums_read(file->db, &file->next) == SQLITE_OK)
        return r;
    for (unsigned i = 0; i < file->schema->n_tables && r == 0; i++)
        r = table_count(file, i, err);
    return r < 0 ? r : sums_put(file, err);
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
    r = r < 0 ? r : tables_count(file, err);
    return r < 0 ? r : version_set(file, err);
}

static const char *time_text(int64_t at_ns, char *text, size_t size)
{
    const time_t seconds = (time_t)(at_ns / 1000000000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

/* Acknowledged data is gone: the log has a hole, or this is another file. */
static int lacking(const struct store_file *file, const struct store_commit *known, struct err *err)
{
    const struct store_commit *newest = &file->sums.newest;
    char is[32] = "", was[32], ends[64] = "it is empty";
    if (newest->n)
        snprintf(ends, sizeof(ends), "it ends with number %" PRIu64 " of %s", newest->n,
                 time_text(newest->at_ns, is, sizeof(is)));
    return err_set(err, EBADMSG,
                   "%s lacks %" PRIu64 " commit%s on the disk: the last was number %" PRIu64
                   " of %s, %s; the file or its log (-wal) was damaged, emptied or put back: go on "
                   "with a backup (duopolyd --restore FILE), or without what is lost (duopolyd "
                   "--restore nothing)",
                   file->path, known->n - newest->n,
                   known->n - newest->n == 1 ? " that was" : "s that were", known->n,
                   time_text(known->at_ns, was, sizeof(was)), ends);
}

/* The sums as they are committed. */
int store_file_sums(struct store_file *file, struct err *err)
{
    int r = store_sums_read(file->db, &file->sums);
    if (r == SQLITE_CORRUPT || r == SQLITE_NOTFOUND)
        return err_set(err, EBADMSG,
                       "%s is damaged: the row that counts its rows is not as it was written; go "
                       "on with a backup (duopolyd --restore FILE)",
                       file->path);
    return r == SQLITE_OK ? 0 : store_file_fail(file, "cannot be read", err);
}

/* A new file gets its tables, an older one is brought up to date; in one transaction either way. */
static int schema_settle(struct store_file *file, const struct store_commit *known, struct err *err)
{
    int64_t version = store_file_number(file, "PRAGMA user_version");
    int64_t tables = store_file_number(file, "SELECT count(*) FROM sqlite_schema");
    if (tables < 0)
        return store_file_fail(file, "cannot be read", err);
    if (version == 0 && tables == 0 && known->n)
        return lacking(file, known, err);
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

int store_file_statement(struct store_file *file, const char *sql, sqlite3_stmt **ret_statement,
                         struct err *err)
{
    if (sqlite3_prepare_v3(file->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_statement, NULL) ==
        SQLITE_OK)
        return 0;
    return store_file_fail(file, "lacks tables that it should have", err);
}

static int statements_make(struct store_file *file, unsigned at, struct err *err)
{
    const struct row_table *table = &file->schema->tables[at];
    char sql[512];
    int n = snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO %s VALUES (", table->name);
    for (unsigned i = 0; i <= table->columns; i++)
        n += snprintf(sql + n, sizeof(sql) - (size_t)n, "%s", i < table->columns ? "?," : "?)");
    int r = store_file_statement(file, sql, &file->put[at], err);
    n = snprintf(sql, sizeof(sql), "DELETE FROM %s", table->name);
    for (unsigned keys = 1; keys <= table->keys && r == 0; keys++) {
        n += snprintf(sql + n, sizeof(sql) - (size_t)n, " %s %s=?", keys == 1 ? "WHERE" : "AND",
                      table->column[keys - 1].name);
        snprintf(sql + n, sizeof(sql) - (size_t)n, " RETURNING hash");
        r = store_file_statement(file, sql, &file->delete[at * STORE_KEYS_MAX + keys - 1], err);
    }
    return r;
}

static int connect(struct store_file *file, const char *vfs, struct err *err)
{
    int r = sqlite3_open_v2(file->path, &file->db,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs);
    if (r != SQLITE_OK)
        return store_file_fail(file, "cannot be opened", err);
    sqlite3_busy_timeout(file->db, BUSY_MS);
    /* SQLite would go on reading where it may not write. */
    if (sqlite3_db_readonly(file->db, "main") == 1)
        return err_set(err, EROFS, "%s cannot be written: it, or its file system, is read-only",
                       file->path);
    /* WHY it is asked first: setting it writes, and a full disk must not be an error here. */
    if ((store_file_number(file, "PRAGMA auto_vacuum") != INCREMENTAL &&
         (r = run(file, "PRAGMA auto_vacuum=INCREMENTAL", err)) < 0) ||
        (r = run(file, "PRAGMA journal_mode=WAL", err)) < 0 ||
        (r = run(file, "PRAGMA synchronous=FULL", err)) < 0)
        return r;
    char sql[64];
    snprintf(sql, sizeof(sql), "PRAGMA journal_size_limit=%d", WAL_BYTES);
    return run(file, sql, err);
}

/* A refused file is left as it is, with its log, for later examination. */
static void leave(struct store_file *file)
{
    if (file->db)
        sqlite3_db_config(file->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    store_file_close(file);
}

bool store_file_is_empty(const char *path)
{
    struct stat file;
    return stat(path, &file) < 0 ? errno == ENOENT : file.st_size == 0;
}

struct store_file *store_file_create(const char *path, const struct store_schema *schema)
{
    struct store_file *file = calloc(1, sizeof(*file));
    if (!file)
        return NULL;
    snprintf(file->path, sizeof(file->path), "%s", path);
    file->schema = schema;
    file->put = calloc(schema->n_tables, sizeof(sqlite3_stmt *));
    file->delete = calloc((size_t)schema->n_tables * STORE_KEYS_MAX, sizeof(sqlite3_stmt *));
    if (file->put && file->delete)
        return file;
    store_file_close(file);
    return NULL;
}

int store_file_judge(struct store_file *file, const struct store_commit *known, struct err *err)
{
    int r = store_file_sums(file, err);
    return r == 0 && file->sums.newest.n < known->n ? lacking(file, known, err) : r;
}

int store_file_open_whole(const char *path, const char *vfs, const struct store_schema *schema,
                          const struct store_commit *known, struct store_file **ret_file,
                          struct err *err)
{
    struct store_file *file = store_file_create(path, schema);
    if (!file)
        return err_sys(err, ENOMEM, "%s", path);
    /* WHY before SQLite sees it: beside an empty file it removes the log. */
    bool emptied = known->n && !vfs && store_file_is_empty(path);
    int r = emptied ? lacking(file, known, err) : connect(file, vfs, err);
    if (r == 0)
        r = schema_settle(file, known, err);
    if (r == 0)
        r = store_file_judge(file, known, err);
    for (unsigned i = 0; i < schema->n_tables && r == 0; i++)
        r = statements_make(file, i, err);
    if (r < 0) {
        leave(file);
        return r;
    }
    *ret_file = file;
    return 0;
}

int store_file_open(const char *path, const char *vfs, const struct store_schema *schema,
                    struct store_file **ret_file, struct err *err)
{
    const struct store_commit none = {0};
    return store_file_open_whole(path, vfs, schema, &none, ret_file, err);
}

const struct store_commit *store_file_newest(const struct store_file *file)
{
    return &file->sums.newest;
}

void store_file_close(struct store_file *file)
{
    if (!file)
        return;
    for (unsigned i = 0; file->put && i < file->schema->n_tables; i++)
        sqlite3_finalize(file->put[i]);
    for (unsigned i = 0; file->delete &&i < file->schema->n_tables * STORE_KEYS_MAX; i++)
        sqlite3_finalize(file->delete[i]);
    for (unsigned i = 0; i < STORE_OWN_MAX; i++)
        sqlite3_finalize(file->own[i].statement);
    sqlite3_finalize(file->sums_put);
    sqlite3_close(file->db);
    row_bytes_done(&file->room);
    free(file->put);
    free(file->delete);
    free(file);
}

void store_file_bound(struct store_file *file, uint64_t bytes)
{
    char sql[64];
    int64_t page = store_file_number(file, "PRAGMA page_size");
    file->bytes_max = bytes;
    snprintf(sql, sizeof(sql), "PRAGMA max_page_count=%" PRIu64,
             bytes / (uint64_t)(page > 0 ? page : 4096));
    store_file_number(file, sql);
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

/* Steps a statement that returns the hashes of the rows that it deletes: how many. */
static int hashes_remove(struct store_file *file, unsigned table, sqlite3_stmt *statement,
                         struct err *err)
{
    int n = 0, r;
    while ((r = sqlite3_step(statement)) == SQLITE_ROW) {
        store_sum_remove(&file->next.of[table], sqlite3_column_int64(statement, 0));
        n++;
    }
    r = r == SQLITE_DONE ? n : store_file_fail(file, "cannot be written", err);
    sqlite3_reset(statement);
    return r;
}

static int delete_apply(struct store_file *file, unsigned at, const struct row_value *key,
                        unsigned columns, struct err *err)
{
    sqlite3_stmt *statement = file->delete[at * STORE_KEYS_MAX + columns - 1];
    for (unsigned i = 0; i < columns; i++)
        value_bind(statement, i, file->schema->tables[at].column[i].type, &key[i]);
    return hashes_remove(file, at, statement, err);
}

/* How many rows it inserted: none if there is one with its key. */
static int insert(struct store_file *file, sqlite3_stmt *statement, struct err *err)
{
    int r = sqlite3_step(statement) == SQLITE_DONE
                ? sqlite3_changes(file->db)
                : store_file_fail(file, "cannot be written", err);
    sqlite3_reset(statement);
    return r;
}

/* WHY not REPLACE: a replaced row must be subtracted from the sums, and most rows replace none. */
static int put_apply(struct store_file *file, const struct row_decoded *row, struct err *err)
{
    const struct row_table *table = &file->schema->tables[row->table];
    sqlite3_stmt *statement = file->put[row->table];
    for (unsigned i = 0; i < row->columns; i++)
        value_bind(statement, i, table->column[i].type, &row->values[i]);
    sqlite3_bind_int64(statement, (int)row->columns + 1, row->hash);
    int n = insert(file, statement, err);
    if (n == 0 && (n = delete_apply(file, row->table, row->values, table->keys, err)) >= 0)
        n = insert(file, statement, err);
    store_sum_add(&file->next.of[row->table], row->hash);
    return n == 1 ? 0 : n < 0 ? n : store_file_fail(file, "cannot be written", err);
}

static int change_apply(struct store_file *file, const struct row_decoded *row, struct err *err)
{
    if (row->change == ROW_PUT)
        return put_apply(file, row, err);
    int r = delete_apply(file, row->table, row->values, row->columns, err);
    return r < 0 ? r : 0;
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

int store_file_begin(struct store_file *file, struct err *err)
{
    file->next = file->sums;
    return run(file, "BEGIN IMMEDIATE", err);
}

int store_file_end(struct store_file *file, int r, struct err *err)
{
    int failure = r < 0 ? r : sums_put(file, err);
    if (failure == 0)
        failure = run(file, "COMMIT", err);
    if (failure < 0) {
        sqlite3_exec(file->db, "ROLLBACK", NULL, NULL, NULL);
        return failure;
    }
    file->sums = file->next;
    return r;
}

int store_file_apply(struct store_file *file, const struct store_piece *pieces, size_t n,
                     struct err *err)
{
    int r = store_file_begin(file, err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = piece_apply(file, &pieces[i], err);
    return store_file_end(file, r, err);
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

static int is_there(const char *to, struct err *err)
{
    return err_set(err, EEXIST, "%s is there already: name a new file", to);
}

int store_file_absent(const char *to, struct err *err)
{
    return access(to, F_OK) == 0 ? is_there(to, err) : 0;
}

/* WHY before it is written: it never has another mode than this. */
static int copy_begin(const char *to, struct err *err)
{
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? is_there(to, err)
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
    if ((r = store_file_statement(file, "VACUUM INTO ?", &statement, err)) < 0) {
        unlink(to);
        return r;
    }
    sqlite3_bind_text(statement, 1, to, -1, SQLITE_STATIC);
    r = sqlite3_step(statement) == SQLITE_DONE ? 0 : store_file_fail(file, "cannot be copied", err);
    sqlite3_finalize(statement);
    r = r < 0 ? r : copy_sync(to, err);
    if (r < 0)
        unlink(to);
    return r;
}

static sqlite3_stmt *own_statement(struct store_file *file, const char *sql)
{
    for (unsigned i = 0; i < STORE_OWN_MAX; i++) {
        if (file->own[i].sql == sql)
            return file->own[i].statement;
        if (file->own[i].sql)
            continue;
        if (store_file_statement(file, sql, &file->own[i].statement, NULL) < 0)
            return NULL;
        file->own[i].sql = sql;
        return file->own[i].statement;
    }
    return NULL;
}

int store_file_remove(struct store_file *file, unsigned table, const char *sql, int64_t first,
                      int64_t second, struct err *err)
{
    sqlite3_stmt *statement = own_statement(file, sql);
    if (!statement)
        return store_file_fail(file, "cannot be used", err);
    sqlite3_bind_int64(statement, 1, first);
    if (sqlite3_bind_parameter_count(statement) > 1)
        sqlite3_bind_int64(statement, 2, second);
    return hashes_remove(file, table, statement, err);
}

void store_file_abandon(struct store_file *file)
{
    sqlite3_exec(file->db, "ROLLBACK", NULL, NULL, NULL);
}

int store_file_run(struct store_file *file, const char *sql, struct err *err)
{
    return run(file, sql, err);
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
