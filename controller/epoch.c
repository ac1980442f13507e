#include "controller/epoch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct epoch {
    char folder[PATH_MAX];
    int fd; /* of the folder; carries the lock */
    uint32_t number;
    uint64_t jobs_used, jobs_reserved;
};

static int read_fail(const struct epoch *epoch, const char *name, struct err *err)
{
    return err_set(err, EINVAL,
                   "%s/%s is not as this program wrote it; put it right or use another folder",
                   epoch->folder, name);
}

/* Reads "epoch N\njobs N\n"; a missing file is epoch 0. */
static int numbers_read(struct epoch *epoch, struct err *err)
{
    char rest;
    int fd = openat(epoch->fd, "epoch", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "%s/epoch", epoch->folder);
    FILE *in = fdopen(fd, "r");
    if (!in) {
        close(fd);
        return err_sys(err, errno, "%s/epoch", epoch->folder);
    }
    int n = fscanf(in, "epoch %" SCNu32 " jobs %" SCNu64 " %c", &epoch->number,
                   &epoch->jobs_reserved, &rest);
    fclose(in);
    if (n != 2 || epoch->number == UINT32_MAX || epoch->jobs_reserved > UINT64_MAX / 2)
        return read_fail(epoch, "epoch", err);
    epoch->jobs_used = epoch->jobs_reserved;
    return 0;
}

static int text_write(int folder, const char *name, const char *text)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text, strlen(text));
    int r = n == (ssize_t)strlen(text) ? 0 : n < 0 ? -errno : -ENOSPC;
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    return r;
}

/* New file, its sync, rename, the folder's sync: at every moment one whole file is there. */
static int numbers_write(const struct epoch *epoch, struct err *err)
{
    char text[80];
    snprintf(text, sizeof(text), "epoch %" PRIu32 "\njobs %" PRIu64 "\n", epoch->number,
             epoch->jobs_reserved);
    int r = text_write(epoch->fd, "epoch.new", text);
    if (r == 0 &&
        (renameat(epoch->fd, "epoch.new", epoch->fd, "epoch") < 0 || fsync(epoch->fd) < 0))
        r = -errno;
    return r < 0 ? err_sys(err, -r, "%s/epoch cannot be written", epoch->folder) : 0;
}

uint32_t epoch_number(const struct epoch *epoch)
{
    return epoch->number;
}

int epoch_job_number(struct epoch *epoch, uint64_t *ret_job, struct err *err)
{
    if (epoch->jobs_used == epoch->jobs_reserved) {
        epoch->jobs_reserved += EPOCH_JOB_BLOCK;
        int r = numbers_write(epoch, err);
        if (r < 0) {
            epoch->jobs_reserved -= EPOCH_JOB_BLOCK;
            return r;
        }
    }
    *ret_job = ++epoch->jobs_used;
    return 0;
}

int epoch_raise(struct epoch *epoch, uint32_t above, struct err *err)
{
    if (above >= UINT32_MAX - 1)
        return err_set(err, ERANGE, "no epoch is left above %" PRIu32, above);
    if (above <= epoch->number)
        return 0;
    epoch->number = above;
    return numbers_write(epoch, err);
}

int epoch_jobs_leap(struct epoch *epoch, uint64_t beyond, struct err *err)
{
    const uint64_t million = 1000000;
    uint64_t least = beyond > epoch->jobs_reserved ? beyond : epoch->jobs_reserved;
    epoch->jobs_used = epoch->jobs_reserved = (least / million + 1) * million;
    return numbers_write(epoch, err);
}

uint64_t epoch_newest_job(const struct epoch *epoch)
{
    return epoch->jobs_used;
}

static int folder_open(struct epoch *epoch, struct err *err)
{
    if (mkdir(epoch->folder, 0755) < 0 && errno != EEXIST)
        return err_sys(err, errno, "%s cannot be made", epoch->folder);
    epoch->fd = open(epoch->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (epoch->fd < 0)
        return err_sys(err, errno, "%s cannot be opened", epoch->folder);
    if (flock(epoch->fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? err_set(err, EWOULDBLOCK, "another controller uses %s", epoch->folder)
                   : err_sys(err, errno, "%s cannot be locked", epoch->folder);
    return 0;
}

int epoch_open(const char *folder, struct epoch **ret_epoch, struct err *err)
{
    struct epoch *epoch = calloc(1, sizeof(*epoch));
    if (!epoch)
        return err_sys(err, ENOMEM, "%s", folder);
    epoch->fd = -1;
    snprintf(epoch->folder, sizeof(epoch->folder), "%s", folder);
    int r = folder_open(epoch, err);
    if (r < 0 || (r = numbers_read(epoch, err)) < 0)
        goto fail;
    epoch->number++;
    if ((r = numbers_write(epoch, err)) < 0)
        goto fail;
    *ret_epoch = epoch;
    return 0;
fail:
    epoch_close(epoch);
    return r;
}

void epoch_close(struct epoch *epoch)
{
    if (!epoch)
        return;
    if (epoch->fd >= 0)
        close(epoch->fd);
    free(epoch);
}
