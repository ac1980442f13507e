#include "controller/cli/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BLOCK  512
#define DIGITS UINT64_C(077777777777) /* eleven octal ones */

struct tar {
    int fd;
    char *path;
    uint64_t left; /* of most_bytes */
};

/* Numbers are octal digits with a NUL behind them. */
struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
    char magic[6], version[2], user[32], group[32], device[16], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

int tar_create(const char *path, uint64_t most_bytes, struct tar **ret_tar, struct err *err)
{
    struct tar *tar = calloc(1, sizeof(*tar));
    if (!tar || !(tar->path = strdup(path))) {
        free(tar);
        return err_sys(err, ENOMEM, "%s", path);
    }
    tar->left = most_bytes;
    tar->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (tar->fd < 0) {
        int code = errno;
        free(tar->path);
        free(tar);
        return code == EEXIST ? err_set(err, EEXIST, "%s is there already: name a new file", path)
                              : err_sys(err, code, "%s", path);
    }
    *ret_tar = tar;
    return 0;
}

static int put(const struct tar *tar, const void *bytes, size_t n, struct err *err)
{
    const char *at = bytes;
    while (n) {
        ssize_t done = write(tar->fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return err_sys(err, errno, "writing %s", tar->path);
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

static int header_put(const struct tar *tar, const char *name, uint64_t size, struct err *err)
{
    struct header header = {.type = '0', .magic = "ustar", .version = {'0', '0'}};
    unsigned sum = 0;
    snprintf(header.name, sizeof(header.name), "%s", name);
    strcpy(header.mode, "0000600");
    strcpy(header.uid, "0000000");
    strcpy(header.gid, "0000000");
    snprintf(header.size, sizeof(header.size), "%011" PRIo64, size & DIGITS);
    snprintf(header.mtime, sizeof(header.mtime), "%011" PRIo64, (uint64_t)time(NULL) & DIGITS);
    memset(header.checksum, ' ', sizeof(header.checksum));
    for (size_t i = 0; i < sizeof(header); i++)
        sum += ((const unsigned char *)&header)[i];
    snprintf(header.checksum, sizeof(header.checksum), "%06o", sum);
    return put(tar, &header, sizeof(header), err);
}

static int pad_put(const struct tar *tar, uint64_t size, struct err *err)
{
    static const char zeros[BLOCK];
    return size % BLOCK ? put(tar, zeros, BLOCK - size % BLOCK, err) : 0;
}

uint64_t tar_room(const struct tar *tar)
{
    return tar->left;
}

int tar_add(struct tar *tar, const char *name, const char *bytes, size_t n, struct err *err)
{
    tar->left -= n < tar->left ? n : tar->left;
    int r = header_put(tar, name, n, err);
    r = r < 0 ? r : put(tar, bytes, n, err);
    return r < 0 ? r : pad_put(tar, n, err);
}

static int copy(const struct tar *tar, int fd, uint64_t size, struct err *err)
{
    char bytes[16384];
    int r = 0;
    for (uint64_t at = 0; r == 0 && at < size;) {
        size_t wanted = size - at < sizeof(bytes) ? (size_t)(size - at) : sizeof(bytes);
        ssize_t n = pread(fd, bytes, wanted, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, errno, "reading for %s", tar->path);
        memset(bytes + n, 0, wanted - (size_t)n);
        r = put(tar, bytes, n ? (size_t)n : wanted, err);
        at += n ? (uint64_t)n : wanted;
    }
    return r;
}

int tar_add_file(struct tar *tar, const char *name, int fd, uint64_t most_bytes,
                 uint64_t *ret_bytes, bool *ret_cut, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_sys(err, errno, "%s", name);
    uint64_t there = (uint64_t)st.st_size, size = there;
    size = size < most_bytes ? size : most_bytes;
    size = size < tar->left ? size : tar->left;
    tar->left -= size;
    *ret_bytes = size;
    *ret_cut = size < there;
    int r = header_put(tar, name, size, err);
    r = r < 0 ? r : copy(tar, fd, size, err);
    return r < 0 ? r : pad_put(tar, size, err);
}

int tar_close(struct tar *tar, bool keep, struct err *err)
{
    static const char end[2 * BLOCK];
    int r = keep ? put(tar, end, sizeof(end), err) : 0;
    if (r == 0 && keep && fsync(tar->fd) < 0)
        r = err_sys(err, errno, "writing %s", tar->path);
    if (close(tar->fd) < 0 && r == 0 && keep)
        r = err_sys(err, errno, "writing %s", tar->path);
    if (!keep || r < 0)
        unlink(tar->path);
    free(tar->path);
    free(tar);
    return r;
}
