#include "controller/store/store_last.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define SAID "commit %020" PRIu64 " at %020" PRId64 " ns"
enum { SAID_LENGTH = 7 + 20 + 4 + 20 + 3, LINE = SAID_LENGTH + 6 + 16 + 1 };

struct store_last {
    char path[PATH_MAX];
    int fd; /* −1: not open yet */
    bool unsynced;
};

static void path_make(char *ret_path, const char *path)
{
    snprintf(ret_path, PATH_MAX, "%s.last", path);
}

struct store_last *store_last_create(const char *path)
{
    struct store_last *last = calloc(1, sizeof(*last));
    if (!last)
        return NULL;
    path_make(last->path, path);
    last->fd = -1;
    return last;
}

void store_last_destroy(struct store_last *last)
{
    if (!last)
        return;
    store_last_sync(last);
    if (last->fd >= 0)
        close(last->fd);
    free(last);
}

static void line_make(char *ret_line, const struct store_commit *commit)
{
    snprintf(ret_line, LINE + 1, SAID, commit->n, commit->at_ns);
    snprintf(ret_line + SAID_LENGTH, LINE + 1 - SAID_LENGTH, " hash %016" PRIx64 "\n",
             (uint64_t)XXH3_64bits(ret_line, SAID_LENGTH));
}

int store_last_read(const struct store_last *last, struct store_commit *ret_commit)
{
    char line[LINE + 1] = "", expected[LINE + 1];
    struct store_commit commit;
    int fd = open(last->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, line, LINE);
    int code = n < 0 ? errno : EBADMSG;
    close(fd);
    if (n != LINE || sscanf(line, "commit %" SCNu64 " at %" SCNd64, &commit.n, &commit.at_ns) != 2)
        return -code;
    line_make(expected, &commit);
    if (memcmp(line, expected, LINE) != 0)
        return -EBADMSG;
    *ret_commit = commit;
    return 0;
}

void store_last_write(struct store_last *last, const struct store_commit *commit)
{
    char line[LINE + 1];
    line_make(line, commit);
    if (last->fd < 0)
        last->fd = open(last->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    last->unsynced |= last->fd >= 0 && pwrite(last->fd, line, LINE, 0) == LINE;
}

void store_last_sync(struct store_last *last)
{
    if (last->unsynced)
        last->unsynced = fdatasync(last->fd) < 0;
}

int store_last_forget(const char *path)
{
    char of_last[PATH_MAX];
    path_make(of_last, path);
    return unlink(of_last) < 0 && errno != ENOENT ? -errno : 0;
}
