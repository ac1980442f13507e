#include "controller/epoch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
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
    char aside[PATH_MAX]; /* "": none */
    struct err unkept;    /* code 0: the folder has the epoch */
};

static int read_fail(const struct epoch *epoch, const char *name, struct err *err)
{
    return err_set(err, EINVAL,
                   "%s/%s is not as this program wrote it; put it right or use another folder",
                   epoch->folder, name);
}

/* Reads "epoch N\njobs N\n": 1; 0: there is no such file; −EINVAL: it is something else; −errno. */
static int file_read(int folder, const char *name, uint32_t *ret_number, uint64_t *ret_jobs)
{
    char rest;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    FILE *in = fdopen(fd, "r");
    if (!in) {
        int r = -errno;
        close(fd);
        return r;
    }
    int n = fscanf(in, "epoch %" SCNu32 " jobs %" SCNu64 " %c", ret_number, ret_jobs, &rest);
    fclose(in);
    return n == 2 && *ret_number < UINT32_MAX && *ret_jobs <= UINT64_MAX / 2 ? 1 : -EINVAL;
}

/* A missing file is epoch 0. */
static int numbers_read(struct epoch *epoch, struct err *err)
{
    int r = file_read(epoch->fd, "epoch", &epoch->number, &epoch->jobs_reserved);
    if (r == -EINVAL)
        return read_fail(epoch, "epoch", err);
    if (r < 0)
        return err_sys(err, -r, "%s/epoch", epoch->folder);
    epoch->jobs_used = epoch->jobs_reserved;
    return 0;
}

/* WHY it is not truncated first: it has its blocks, and a full disk has no others. */
static int text_write(int folder, const char *name, const char *text)
{
    const off_t length = (off_t)strlen(text);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return -errno;
    ssize_t n = pwrite(fd, text, (size_t)length, 0);
    int r = n == length ? 0 : n < 0 ? -errno : -ENOSPC;
    if (r == 0 && (ftruncate(fd, length) < 0 || fsync(fd) < 0))
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    return r;
}

/* Text of constant length, as earlier versions read it. */
static void text_make(const struct epoch *epoch, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "epoch %10" PRIu32 "\njobs %20" PRIu64 "\n", epoch->number,
             epoch->jobs_reserved);
}

/* Under either name there is a complete file at every moment. If they cannot be exchanged (the
 * first time, or the file system has no such call), the new one is renamed, and another is made for
 * the next time, if there is space. */
static int names_exchange(int folder, const char *text)
{
    if (renameat2(folder, "epoch.new", folder, "epoch", RENAME_EXCHANGE) == 0)
        return 0;
    if (renameat(folder, "epoch.new", folder, "epoch") < 0)
        return -errno;
    text_write(folder, "epoch.new", text);
    return 0;
}

/* New text, its sync, its name, the folder's sync. */
static int numbers_write(struct epoch *epoch, struct err *err)
{
    char text[80];
    text_make(epoch, text, sizeof(text));
    int r = text_write(epoch->fd, "epoch.new", text);
    if (r == 0)
        r = names_exchange(epoch->fd, text);
    if (r == 0 && fsync(epoch->fd) < 0)
        r = -errno;
    if (r == 0)
        epoch->unkept.code = 0;
    return r < 0 ? err_sys(err, -r, "%s/epoch cannot be written", epoch->folder) : 0;
}

/* Reads the newest epoch, if the last start wrote it there: nothing may have raised it since. Job
 * numbers come only from the folder. */
static bool aside_read(struct epoch *epoch)
{
    uint32_t number;
    uint64_t jobs;
    if (!*epoch->aside || file_read(AT_FDCWD, epoch->aside, &number, &jobs) <= 0 ||
        number < epoch->number)
        return false;
    epoch->number = number;
    return true;
}

static int aside_write(const struct epoch *epoch)
{
    char text[80];
    text_make(epoch, text, sizeof(text));
    return *epoch->aside ? text_write(AT_FDCWD, epoch->aside, text) : -ENOENT;
}

static int raise_aside(struct epoch *epoch)
{
    epoch->number--;
    if (!aside_read(epoch) || epoch->number >= UINT32_MAX - 1)
        return -ENOENT;
    epoch->number++;
    return aside_write(epoch);
}

/* A failed write aside is not an error: then the next start needs the folder. */
static int raise_one(struct epoch *epoch, struct err *err)
{
    struct err why = {0};
    epoch->number++;
    int r = numbers_write(epoch, &why);
    if (r == 0) {
        if (aside_write(epoch) < 0 && *epoch->aside)
            unlink(epoch->aside);
        return 0;
    }
    if (raise_aside(epoch) < 0) {
        if (err)
            *err = why;
        return r;
    }
    epoch->unkept = why;
    return 0;
}

const struct err *epoch_unkept(const struct epoch *epoch)
{
    return epoch->unkept.code ? &epoch->unkept : NULL;
}

int epoch_keep(struct epoch *epoch, struct err *err)
{
    return epoch->unkept.code ? numbers_write(epoch, err) : 0;
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

int epoch_open(const char *folder, const char *aside, struct epoch **ret_epoch, struct err *err)
{
    struct epoch *epoch = calloc(1, sizeof(*epoch));
    if (!epoch)
        return err_sys(err, ENOMEM, "%s", folder);
    epoch->fd = -1;
    snprintf(epoch->folder, sizeof(epoch->folder), "%s", folder);
    snprintf(epoch->aside, sizeof(epoch->aside), "%s", aside ? aside : "");
    int r = folder_open(epoch, err);
    if (r < 0 || (r = numbers_read(epoch, err)) < 0)
        goto fail;
    if ((r = raise_one(epoch, err)) < 0)
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
