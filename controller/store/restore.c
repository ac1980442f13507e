#include "controller/store/restore.h"

#include "controller/store/store_tables.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = PATH_MAX + 32 };

static int bytes_copy(int from, int to)
{
    ssize_t n;
    while ((n = sendfile(to, from, NULL, 1 << 20)) > 0)
        ;
    return n < 0 || fsync(to) < 0 ? -errno : 0;
}

static int file_copy(const char *from, const char *to, struct err *err)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return err_sys(err, errno, "%s", from);
    unlink(to); /* of one that was cut short */
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int r = out < 0 ? -errno : bytes_copy(in, out);
    close(in);
    if (out >= 0)
        close(out);
    return r < 0 ? err_sys(err, -r, "%s cannot be copied to %s", from, to) : 0;
}

static int check(const char *path, struct err *err)
{
    struct store_file *file;
    uint64_t rows;
    int r = store_file_open(path, NULL, &store_schema, &file, err);
    if (r < 0)
        return r;
    r = store_file_check(file, &rows, err);
    store_file_close(file);
    return r;
}

static void path_make(char *ret_path, const char *path, const char *beside, const char *part)
{
    snprintf(ret_path, ROOM, "%s%s%s", path, beside, part);
}

/* The file, and what SQLite has beside it. */
static int set_aside(const char *path, struct err *err)
{
    static const char *const parts[] = {"-wal", "-shm", ""};
    char from[ROOM], to[ROOM];
    path_make(to, path, ".before-restore", "");
    if (access(to, F_OK) == 0)
        return err_set(err, EEXIST, "%s is there from a restore before: move it away first", to);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        path_make(from, path, "", parts[i]);
        path_make(to, path, ".before-restore", parts[i]);
        if (rename(from, to) < 0 && errno != ENOENT)
            return err_sys(err, errno, "%s", to);
    }
    return 0;
}

static int folder_sync(const char *path, struct err *err)
{
    char copy[ROOM];
    snprintf(copy, sizeof(copy), "%s", path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd < 0 || fsync(fd) < 0 ? err_sys(err, errno, "%s", path) : 0;
    if (fd >= 0)
        close(fd);
    return r;
}

/* A sound copy at `fresh`, and what it revives. */
static int fresh_make(const char *backup, const char *path, const char *fresh, bool keys,
                      const struct revival_say *say, struct err *err)
{
    int r = file_copy(backup, fresh, err);
    if (r == 0 && (r = check(fresh, err)) < 0)
        err_prefix(err, "%s is not taken", backup);
    return r < 0 ? r : revival_look(path, fresh, keys, say, err);
}

/* WHY: attempts sent since the backup may carry proofs of another key (attempt_proof.h), so proofs
 * are not required. */
static int proofs_drop(const char *fresh, struct err *err)
{
    static const char *const kinds[] = {"proof", "proof-from"};
    struct row_bytes changes = {0};
    struct store_file *file;
    int r = store_file_open(fresh, NULL, &store_schema, &file, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct row_value kind[] = {row_text(kinds[i])};
        row_encode(store_schema.tables, STORE_SETTINGS, ROW_DELETE, kind, 1, &changes);
    }
    const struct store_piece piece = {changes.at, changes.used};
    r = changes.failed ? err_sys(err, ENOMEM, "%s", fresh) : store_file_apply(file, &piece, 1, err);
    row_bytes_done(&changes);
    store_file_close(file);
    return r;
}

/* With what SQLite has beside it. */
static void fresh_remove(const char *fresh)
{
    static const char *const parts[] = {"-wal", "-shm", ""};
    char name[ROOM + 8];
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", fresh, parts[i]);
        unlink(name);
    }
}

int store_restore_look(const char *backup, const char *path, const struct revival_say *say,
                       struct err *err)
{
    char fresh[ROOM];
    path_make(fresh, path, ".looked-at", "");
    int r = fresh_make(backup, path, fresh, false, say, err);
    fresh_remove(fresh);
    return r;
}

int store_restore(const char *backup, const char *path, const struct revival_say *say,
                  struct err *err)
{
    char fresh[ROOM];
    path_make(fresh, path, ".restoring", "");
    int r = fresh_make(backup, path, fresh, true, say, err);
    if (r == 0)
        r = proofs_drop(fresh, err);
    if (r == 0)
        r = set_aside(path, err);
    if (r == 0 && rename(fresh, path) < 0)
        r = err_sys(err, errno, "%s", path);
    if (r < 0) {
        fresh_remove(fresh);
        return r;
    }
    return folder_sync(path, err);
}
