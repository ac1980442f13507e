#include "controller/store/store_reading.h"

#include "controller/store/store_file_inside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* As SQLite reads an URI's path. */
static void uri_make(const char *path, char *ret_uri, size_t size)
{
    size_t n = (size_t)snprintf(ret_uri, size, "file:");
    for (; *path && n + 4 < size; path++)
        n += (size_t)snprintf(ret_uri + n, size - n, strchr("?#%", *path) ? "%%%02x" : "%c", *path);
    snprintf(ret_uri + n, size - n, "?immutable=1");
}

/* With a log: its index is in memory (exclusive mode). Without a log SQLite would create one,
 * except for a file that is declared immutable. */
static int connect_reading(struct store_file *file, struct err *err)
{
    char log[sizeof(file->path) + 8], uri[3 * sizeof(file->path) + 32];
    struct stat is;
    int r;
    snprintf(log, sizeof(log), "%s-wal", file->path);
    if (stat(log, &is) == 0 && is.st_size > 0) {
        r = sqlite3_open_v2(file->path, &file->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                            "unix-none");
        if (r == SQLITE_OK)
            r = sqlite3_exec(file->db, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL);
    } else {
        uri_make(file->path, uri, sizeof(uri));
        r = sqlite3_open_v2(uri, &file->db,
                            SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
    }
    return r == SQLITE_OK ? 0 : store_file_fail(file, "cannot be read", err);
}

int store_reading_open(const char *path, const struct store_schema *schema,
                       const struct store_commit *known, const struct err *why,
                       struct store_file **ret_file, struct err *err)
{
    struct store_file *file = store_file_create(path, schema);
    if (!file)
        return err_sys(err, ENOMEM, "%s", path);
    int r = connect_reading(file, err);
    if (r == 0 && store_file_number(file, "PRAGMA user_version") != schema->version)
        r = store_file_fail(file, "is not of this program's version", err);
    if (r == 0)
        r = store_file_judge(file, known, err);
    if (r < 0) {
        store_file_close(file);
        return r;
    }
    file->reading = true;
    file->why = *why;
    *ret_file = file;
    return 0;
}

const struct err *store_reading_why(const struct store_file *file)
{
    return file->reading ? &file->why : NULL;
}

static void disconnect(struct store_file *file)
{
    for (unsigned i = 0; i < STORE_OWN_MAX; i++)
        sqlite3_finalize(file->own[i].statement);
    memset(file->own, 0, sizeof(file->own));
    sqlite3_close(file->db);
    file->db = NULL;
}

int store_reading_end(struct store_file *file, struct err *err)
{
    struct store_file *writing;
    disconnect(file);
    int r =
        store_file_open_whole(file->path, NULL, file->schema, &file->sums.newest, &writing, err);
    if (r < 0)
        return r;
    store_file_bound(writing, file->bytes_max);
    const struct store_file before = *file;
    *file = *writing;
    *writing = before;
    store_file_close(writing);
    return 0;
}
