#include "hostagent/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void files_path(char path[FILES_PATH], const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(path, FILES_PATH, format, ap);
    va_end(ap);
    if (n < 0 || n >= FILES_PATH)
        snprintf(path, FILES_PATH, FILES_TOO_LONG);
}

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

int files_write(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err)
{
    char beside[FILES_PATH];
    files_path(beside, "%s.new", path);
    unlink(beside); /* left by an interrupted call: no other name of it may be written */
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return err_sys(err, errno, "writing %s", beside);
    int r = write_all(fd, bytes, n);
    if (r >= 0 && fchmod(fd, mode) < 0)
        r = -errno;
    close(fd);
    if (r >= 0 && rename(beside, path) < 0)
        r = -errno;
    if (r < 0) {
        unlink(beside);
        return err_sys(err, -r, "writing %s", path);
    }
    return 0;
}

int files_write_twin(const char *path, const char *twin, const void *bytes, size_t n, mode_t mode,
                     struct err *err)
{
    return link(twin, path) == 0 ? 0 : files_write(path, bytes, n, mode, err);
}

int files_overwrite(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
    ssize_t done = fd < 0 ? -1 : pwrite(fd, bytes, n, 0);
    int code = done < 0 ? errno : ENOSPC;
    if (fd >= 0)
        close(fd);
    return done == (ssize_t)n ? 0 : err_sys(err, code, "writing %s", path);
}

int files_read(const char *path, char *buffer, size_t size, size_t *ret_n, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "reading %s", path);
    size_t used = 0;
    ssize_t got = 1;
    while (got > 0 && used < size) {
        got = read(fd, buffer + used, size - used);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            used += (size_t)got;
    }
    int code = got < 0 ? errno : used == size ? EFBIG : 0;
    close(fd);
    if (code)
        return err_sys(err, code, "reading %s", path);
    buffer[used] = 0;
    if (ret_n)
        *ret_n = used;
    return 0;
}

int files_read_whole(const char *path, size_t most, char **ret_text, struct err *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return err_sys(err, errno, "reading %s", path);
    size_t size = (size_t)st.st_size > most ? most : (size_t)st.st_size;
    char *text = malloc(size + 2);
    int r = text ? files_read(path, text, size + 2, NULL, err) : err_sys(err, ENOMEM, "%s", path);
    if (r < 0)
        free(text);
    else
        *ret_text = text;
    return r;
}

int files_check_writable(const char *path, struct err *err)
{
    char above[FILES_PATH];
    files_path(above, "%s", path);
    for (char *end = above; access(above, F_OK) < 0 && end; *end = 0)
        if (!(end = strrchr(above + 1, '/')))
            return 0;
    /* WHY the mount's flags are not read: a failed one becomes read-only only at a write. */
    int fd = open(above, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), why = errno;
    if (fd >= 0)
        close(fd);
    return fd < 0 && (why == EROFS || why == EIO)
               ? err_set(err, EROFS, "%s cannot be written (%s): it is to be mounted writable",
                         path, strerror(why))
               : 0;
}

int files_make_dirs(const char *path, mode_t mode, struct err *err)
{
    char part[FILES_PATH];
    files_path(part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(part, mode) < 0 && errno != EEXIST)
            return err_sys(err, errno, "making %s", part);
        *slash = '/';
    }
    if (mkdir(part, mode) < 0 && errno != EEXIST)
        return err_sys(err, errno, "making %s", part);
    return 0;
}

int files_each_attempt(const char *directory, void (*each)(void *user, uint64_t attempt),
                       void *user, struct err *err)
{
    DIR *dir = opendir(directory);
    if (!dir)
        return err_sys(err, errno, "reading %s", directory);
    for (struct dirent *entry; (entry = readdir(dir));) {
        uint64_t attempt;
        int end = 0;
        if (sscanf(entry->d_name, "%16" SCNx64 "%n", &attempt, &end) == 1 && end == 16 &&
            !entry->d_name[16])
            each(user, attempt);
    }
    closedir(dir);
    return 0;
}
