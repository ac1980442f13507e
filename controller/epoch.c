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

struct state {
    char folder[PATH_MAX];
    int fd; /* of the folder; carries the lock */
    uint32_t epoch;
    uint64_t jobs_used, jobs_reserved;
    struct known_host *hosts;
    FILE *hosts_file;
    uint32_t dropped; /* in the file */
};

static int read_fail(const struct state *state, const char *name, struct err *err)
{
    return err_set(err, EINVAL,
                   "%s/%s is not as this program wrote it; put it right or use another folder",
                   state->folder, name);
}

/* Reads "epoch N\njobs N\n"; a missing file is epoch 0. */
static int numbers_read(struct state *state, struct err *err)
{
    char rest;
    int fd = openat(state->fd, "epoch", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "%s/epoch", state->folder);
    FILE *in = fdopen(fd, "r");
    if (!in) {
        close(fd);
        return err_sys(err, errno, "%s/epoch", state->folder);
    }
    int n = fscanf(in, "epoch %" SCNu32 " jobs %" SCNu64 " %c", &state->epoch,
                   &state->jobs_reserved, &rest);
    fclose(in);
    if (n != 2 || state->epoch == UINT32_MAX || state->jobs_reserved > UINT64_MAX / 2)
        return read_fail(state, "epoch", err);
    state->jobs_used = state->jobs_reserved;
    return 0;
}

static int text_write(int folder, const char *name, const char *text)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    int r = write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fsync(fd) == 0 ? 0 : -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    return r;
}

/* New file, its sync, rename, the folder's sync: at every moment one whole file is there. */
static int numbers_write(const struct state *state, struct err *err)
{
    char text[80];
    snprintf(text, sizeof(text), "epoch %" PRIu32 "\njobs %" PRIu64 "\n", state->epoch,
             state->jobs_reserved);
    int r = text_write(state->fd, "epoch.new", text);
    if (r == 0 &&
        (renameat(state->fd, "epoch.new", state->fd, "epoch") < 0 || fsync(state->fd) < 0))
        r = -errno;
    return r < 0 ? err_sys(err, -r, "%s/epoch cannot be written", state->folder) : 0;
}

uint32_t state_epoch(const struct state *state)
{
    return state->epoch;
}

int state_job_number(struct state *state, uint64_t *ret_job, struct err *err)
{
    if (state->jobs_used == state->jobs_reserved) {
        state->jobs_reserved += STATE_JOB_BLOCK;
        int r = numbers_write(state, err);
        if (r < 0) {
            state->jobs_reserved -= STATE_JOB_BLOCK;
            return r;
        }
    }
    *ret_job = ++state->jobs_used;
    return 0;
}

/* ---- hosts ------------------------------------------------------------------------------ */

bool state_host_known(const struct state *state, const char *name)
{
    struct known_host *host;
    HASH_FIND_STR(state->hosts, name, host);
    return host != NULL;
}

uint32_t state_hosts(const struct state *state)
{
    return HASH_COUNT(state->hosts);
}

static int host_remember(struct state *state, const char *name)
{
    struct known_host *host = calloc(1, sizeof(*host));
    if (!host)
        return -ENOMEM;
    strcpy(host->name, name);
    HASH_ADD_STR(state->hosts, name, host);
    return 0;
}

static void host_drop(struct state *state, const char *name)
{
    struct known_host *host;
    HASH_FIND_STR(state->hosts, name, host);
    if (!host)
        return;
    HASH_DEL(state->hosts, host);
    free(host);
    state->dropped++;
}

static int hosts_read(struct state *state, struct err *err)
{
    char name[64], word[16], line[96];
    int r = 0, fd = openat(state->fd, "hosts", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || !(state->hosts_file = fdopen(fd, "a+"))) {
        r = err_sys(err, errno, "%s/hosts", state->folder);
        if (fd >= 0)
            close(fd);
        return r;
    }
    rewind(state->hosts_file);
    while (r == 0 && fgets(line, sizeof(line), state->hosts_file)) {
        /* A last line without its end was never finished: its host says HELLO again anyway. */
        if (!strchr(line, '\n') && feof(state->hosts_file))
            break;
        int words = sscanf(line, "%63s %15s", name, word);
        if (words < 1 || (words == 2 && strcmp(word, "forgotten") != 0))
            r = read_fail(state, "hosts", err);
        else if (words == 2)
            host_drop(state, name);
        else if (!state_host_known(state, name) && host_remember(state, name) < 0)
            r = err_sys(err, ENOMEM, "%s/hosts", state->folder);
    }
    return r;
}

int state_host_add(struct state *state, const char *name, struct err *err)
{
    if (state_host_known(state, name))
        return 0;
    if (strlen(name) >= sizeof(((struct known_host *)0)->name) || host_remember(state, name) < 0)
        return err_sys(err, ENOMEM, "host '%s' cannot be remembered", name);
    if (fprintf(state->hosts_file, "%s\n", name) < 0 || fflush(state->hosts_file) != 0)
        return err_sys(err, errno, "%s/hosts cannot be written", state->folder);
    return 0;
}

/* Only those that are known: a new file, which takes the place of the old one. */
static int hosts_rewrite(struct state *state, struct err *err)
{
    const struct known_host *host;
    int fd =
        openat(state->fd, "hosts.new", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "a");
    if (!out) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return err_sys(err, code, "%s/hosts.new", state->folder);
    }
    for (host = state->hosts; host; host = host->hh.next)
        fprintf(out, "%s\n", host->name);
    if (fflush(out) != 0 || ferror(out) ||
        renameat(state->fd, "hosts.new", state->fd, "hosts") < 0) {
        int code = errno;
        fclose(out);
        return err_sys(err, code, "%s/hosts cannot be written", state->folder);
    }
    fclose(state->hosts_file);
    state->hosts_file = out;
    state->dropped = 0;
    return 0;
}

int state_host_remove(struct state *state, const char *name, struct err *err)
{
    if (!state_host_known(state, name))
        return 0;
    host_drop(state, name);
    if (state->dropped > DROPPED_MAX + HASH_COUNT(state->hosts))
        return hosts_rewrite(state, err);
    if (fprintf(state->hosts_file, "%s forgotten\n", name) < 0 || fflush(state->hosts_file) != 0)
        return err_sys(err, errno, "%s/hosts cannot be written", state->folder);
    return 0;
}

uint64_t state_newest_job(const struct state *state)
{
    return state->jobs_used;
}

/* ---- the folder ------------------------------------------------------------------------- */

static int folder_open(struct state *state, struct err *err)
{
    if (mkdir(state->folder, 0755) < 0 && errno != EEXIST)
        return err_sys(err, errno, "%s cannot be made", state->folder);
    state->fd = open(state->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (state->fd < 0)
        return err_sys(err, errno, "%s cannot be opened", state->folder);
    if (flock(state->fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? err_set(err, EWOULDBLOCK, "another controller uses %s", state->folder)
                   : err_sys(err, errno, "%s cannot be locked", state->folder);
    return 0;
}

int state_open(const char *folder, struct state **ret_state, struct err *err)
{
    struct state *state = calloc(1, sizeof(*state));
    if (!state)
        return err_sys(err, ENOMEM, "%s", folder);
    state->fd = -1;
    snprintf(state->folder, sizeof(state->folder), "%s", folder);
    int r = folder_open(state, err);
    if (r < 0 || (r = numbers_read(state, err)) < 0 || (r = hosts_read(state, err)) < 0)
        goto fail;
    state->epoch++;
    if ((r = numbers_write(state, err)) < 0)
        goto fail;
    *ret_state = state;
    return 0;
fail:
    state_close(state);
    return r;
}

void state_close(struct state *state)
{
    if (!state)
        return;
    struct known_host *host, *next;
    HASH_ITER (hh, state->hosts, host, next) {
        HASH_DEL(state->hosts, host);
        free(host);
    }
    if (state->hosts_file)
        fclose(state->hosts_file);
    if (state->fd >= 0)
        close(state->fd);
    free(state);
}
