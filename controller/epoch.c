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
#include <uthash.h>

struct known_host {
    UT_hash_handle hh;
    char name[64];
};

#define DROPPED_MAX 1000 /* names in the file that are forgotten, beside as many as are known */

struct epoch {
    char folder[PATH_MAX];
    int fd; /* of the folder; carries the lock */
    uint32_t number;
    uint64_t jobs_used, jobs_reserved;
    struct known_host *hosts;
    FILE *hosts_file;
    uint32_t dropped; /* in the file */
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

bool epoch_host_known(const struct epoch *epoch, const char *name)
{
    struct known_host *host;
    HASH_FIND_STR(epoch->hosts, name, host);
    return host != NULL;
}

uint32_t epoch_hosts(const struct epoch *epoch)
{
    return HASH_COUNT(epoch->hosts);
}

static int host_remember(struct epoch *epoch, const char *name)
{
    struct known_host *host = calloc(1, sizeof(*host));
    if (!host)
        return -ENOMEM;
    strcpy(host->name, name);
    HASH_ADD_STR(epoch->hosts, name, host);
    return 0;
}

static void host_drop(struct epoch *epoch, const char *name)
{
    struct known_host *host;
    HASH_FIND_STR(epoch->hosts, name, host);
    if (!host)
        return;
    HASH_DEL(epoch->hosts, host);
    free(host);
    epoch->dropped++;
}

static int host_line_take(struct epoch *epoch, const char *line, struct err *err)
{
    char name[64], word[16];
    int words = sscanf(line, "%63s %15s", name, word);
    if (words < 1 || !strchr(line, '\n') || (words == 2 && strcmp(word, "forgotten") != 0))
        return read_fail(epoch, "hosts", err);
    if (words == 2)
        host_drop(epoch, name);
    else if (!epoch_host_known(epoch, name) && host_remember(epoch, name) < 0)
        return err_sys(err, ENOMEM, "%s/hosts", epoch->folder);
    return 0;
}

static int hosts_read(struct epoch *epoch, struct err *err)
{
    char line[96];
    off_t whole = 0;
    int r = 0, fd = openat(epoch->fd, "hosts", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || !(epoch->hosts_file = fdopen(fd, "a+"))) {
        r = err_sys(err, errno, "%s/hosts", epoch->folder);
        if (fd >= 0)
            close(fd);
        return r;
    }
    rewind(epoch->hosts_file);
    while (r == 0 && fgets(line, sizeof(line), epoch->hosts_file)) {
        /* A last line without its end was never finished: its host says HELLO again anyway. It
         * goes, or the next name would be joined to it. */
        if (!strchr(line, '\n') && feof(epoch->hosts_file))
            return ftruncate(fd, whole) < 0 ? err_sys(err, errno, "%s/hosts", epoch->folder) : 0;
        whole += (off_t)strlen(line);
        r = host_line_take(epoch, line, err);
    }
    if (r == 0 && ferror(epoch->hosts_file))
        r = err_sys(err, EIO, "%s/hosts cannot be read", epoch->folder);
    return r;
}

int epoch_host_add(struct epoch *epoch, const char *name, struct err *err)
{
    if (epoch_host_known(epoch, name))
        return 0;
    int r = strlen(name) < sizeof(((struct known_host *)0)->name) ? host_remember(epoch, name)
                                                                  : -ENAMETOOLONG;
    if (r < 0)
        return err_sys(err, -r, "host '%s' cannot be remembered", name);
    if (fprintf(epoch->hosts_file, "%s\n", name) < 0 || fflush(epoch->hosts_file) != 0)
        return err_sys(err, errno, "%s/hosts cannot be written", epoch->folder);
    return 0;
}

/* Only those that are known: a new file, which takes the place of the old one. */
static int hosts_rewrite(struct epoch *epoch, struct err *err)
{
    const struct known_host *host;
    int fd =
        openat(epoch->fd, "hosts.new", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "a");
    if (!out) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return err_sys(err, code, "%s/hosts.new", epoch->folder);
    }
    for (host = epoch->hosts; host; host = host->hh.next)
        fprintf(out, "%s\n", host->name);
    if (fflush(out) != 0 || ferror(out) ||
        renameat(epoch->fd, "hosts.new", epoch->fd, "hosts") < 0) {
        int code = errno;
        fclose(out);
        return err_sys(err, code, "%s/hosts cannot be written", epoch->folder);
    }
    fclose(epoch->hosts_file);
    epoch->hosts_file = out;
    epoch->dropped = 0;
    return 0;
}

int epoch_host_remove(struct epoch *epoch, const char *name, struct err *err)
{
    if (!epoch_host_known(epoch, name))
        return 0;
    host_drop(epoch, name);
    if (epoch->dropped > DROPPED_MAX + HASH_COUNT(epoch->hosts))
        return hosts_rewrite(epoch, err);
    if (fprintf(epoch->hosts_file, "%s forgotten\n", name) < 0 || fflush(epoch->hosts_file) != 0)
        return err_sys(err, errno, "%s/hosts cannot be written", epoch->folder);
    return 0;
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
    if (r < 0 || (r = numbers_read(epoch, err)) < 0 || (r = hosts_read(epoch, err)) < 0)
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
    struct known_host *host, *next;
    HASH_ITER (hh, epoch->hosts, host, next) {
        HASH_DEL(epoch->hosts, host);
        free(host);
    }
    if (epoch->hosts_file)
        fclose(epoch->hosts_file);
    if (epoch->fd >= 0)
        close(epoch->fd);
    free(epoch);
}
