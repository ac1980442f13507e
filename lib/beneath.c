#include "lib/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOLDER (O_RDONLY | O_DIRECTORY)

int beneath_root(const char *path, struct err *err)
{
    int fd = open(path, FOLDER | O_CLOEXEC);
    return fd < 0 ? err_sys(err, errno, "opening the folder %s", path) : fd;
}

/* Whether both are on one mount. WHY not synced: the server of a file system might never answer. */
static bool same_mount(int a, int b)
{
    struct statx of[2];
    const int fds[2] = {a, b};
    for (int i = 0; i < 2; i++)
        if (statx(fds[i], "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &of[i]) < 0)
            return false;
    return of[0].stx_mnt_id == of[1].stx_mnt_id && of[0].stx_dev_major == of[1].stx_dev_major &&
           of[0].stx_dev_minor == of[1].stx_dev_minor;
}

static int open_one(int folder, const char *name, int flags, mode_t mode)
{
    int fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    if (same_mount(folder, fd))
        return fd;
    close(fd);
    return -EXDEV;
}

/* A folder is examined before it is opened: a mount there might never answer. */
static int open_single(int folder, const char *name, int flags, mode_t mode)
{
    if (*name == '/' || strcmp(name, "..") == 0 || strncmp(name, "../", 3) == 0)
        return -EXDEV;
    if (strchr(name, '/'))
        return -ENOSYS;
    if (!(flags & O_DIRECTORY) || flags & O_PATH)
        return open_one(folder, name, flags, mode);
    int path = open_one(folder, name, O_PATH | O_DIRECTORY, 0);
    int fd = path < 0 ? path : openat(path, ".", flags | O_NOFOLLOW | O_CLOEXEC, mode);
    int r = fd < 0 && path >= 0 ? -errno : fd;
    if (path >= 0)
        close(path);
    return r;
}

int beneath_open(int folder, const char *name, int flags, mode_t mode)
{
    const struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC),
                                 .mode = mode,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                                            RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS};
    long fd = syscall(SYS_openat2, folder, name, &how, sizeof(how));
    if (fd < 0 && errno == ENOSYS)
        return open_single(folder, name, flags, mode);
    return fd < 0 ? -errno : (int)fd;
}

bool beneath_is_folder(int folder, const char *name)
{
    int fd = beneath_open(folder, name, O_PATH | O_DIRECTORY, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* An unused name: a process that may write the folder cannot guess it. */
static int make_up(const char *prefix, char ret_name[NAME_MAX + 1])
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
        return -EAGAIN;
    snprintf(ret_name, NAME_MAX + 1, "%.*s%016" PRIx64, BENEATH_PREFIX, prefix, number);
    return 0;
}

static int move(int from, const char *name, int to, const char *prefix)
{
    char fresh[NAME_MAX + 1];
    int r = make_up(prefix, fresh);
    return r < 0 || renameat2(from, name, to, fresh, RENAME_NOREPLACE) == 0 ? r : -errno;
}

int beneath_put_aside(int folder, const char *name, const char *prefix)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    int r = move(folder, name, folder, prefix);
    return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

/* One removal. The counts of a pass over `top` say whether another one would help. */
struct sweep {
    int top;
    const char *prefix;
    const char *aside; /* an entry to skip; "": none */
    uint64_t steps;    /* left */
    uint32_t gone, stay;
    int code; /* why the first remaining entry stays */
};

/* For a folder of ours that we may not read: sets its rights, through a descriptor of itself. */
static int open_unreadable(int folder, const char *name)
{
    char self[64];
    int path = beneath_open(folder, name, O_PATH | O_DIRECTORY, 0);
    if (path < 0)
        return path;
    snprintf(self, sizeof(self), "/proc/self/fd/%d", path);
    int fd = chmod(self, 0700) < 0 ? -errno : beneath_open(path, ".", FOLDER, 0);
    close(path);
    return fd;
}

/* A folder whose entries we may remove, as far as it is ours. */
static int open_folder(int folder, const char *name)
{
    struct stat st;
    int fd = beneath_open(folder, name, FOLDER, 0);
    if (fd == -EACCES)
        return open_unreadable(folder, name);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0700) != 0700)
        fchmod(fd, 0700);
    return fd;
}

/* −ENOTEMPTY: a folder with something in it. */
static int drop(int folder, const char *name)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return 0;
    int code = errno;
    if (code != EISDIR && code != EPERM)
        return -code;
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    return errno == ENOTDIR ? -code : errno == EEXIST ? -ENOTEMPTY : -errno;
}

/* Moving a folder needs write access to it, since its ".." changes. */
static int move_up(const struct sweep *sweep, int folder, const char *name)
{
    int r = move(folder, name, sweep->top, sweep->prefix);
    int fd = r == -EACCES ? open_folder(folder, name) : -1;
    if (fd >= 0) {
        close(fd); /* its rights are set now */
        r = move(folder, name, sweep->top, sweep->prefix);
    }
    return r == -ENOENT ? 0 : r;
}

static void count(struct sweep *sweep, int r)
{
    if (r < 0 && !sweep->stay++)
        sweep->code = -r;
    sweep->gone += r >= 0;
}

static bool is_entry(const struct sweep *sweep, const struct dirent *entry, const char *prefix)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
           strcmp(entry->d_name, sweep->aside) != 0 &&
           strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
}

/* Removes each entry, or moves it to the top if it is not empty. */
static void empty(struct sweep *sweep, DIR *dir, const char *prefix)
{
    for (struct dirent *entry; sweep->steps && (entry = readdir(dir));) {
        if (!is_entry(sweep, entry, prefix))
            continue;
        sweep->steps--;
        int r = drop(dirfd(dir), entry->d_name);
        count(sweep, r == -ENOTEMPTY ? move_up(sweep, dirfd(dir), entry->d_name) : r);
    }
}

static DIR *list(int folder, const char *name, int *ret_code)
{
    int fd = open_folder(folder, name);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    *ret_code = fd < 0 ? fd : -ENOMEM;
    return dir;
}

static void sweep_entry(struct sweep *sweep, const char *name)
{
    int code;
    sweep->steps--;
    int r = drop(sweep->top, name);
    DIR *dir = r == -ENOTEMPTY ? list(sweep->top, name, &code) : NULL;
    if (dir) {
        empty(sweep, dir, "");
        closedir(dir);
        r = drop(sweep->top, name);
    } else if (r == -ENOTEMPTY) {
        r = code;
    }
    count(sweep, r);
}

static int sweep_top(struct sweep *sweep)
{
    int code;
    DIR *dir = list(sweep->top, ".", &code);
    if (!dir)
        return code;
    sweep->gone = sweep->stay = 0;
    for (struct dirent *entry; sweep->steps && (entry = readdir(dir));)
        if (is_entry(sweep, entry, sweep->prefix))
            sweep_entry(sweep, entry->d_name);
    closedir(dir);
    return 0;
}

static int refuse_rest(const struct sweep *sweep, uint32_t stay, struct err *err)
{
    return err_sys(err, sweep->code, "%" PRIu32 " entr%s cannot be removed, the first since", stay,
                   stay == 1 ? "y" : "ies");
}

/* Passes over the top, until one changes nothing. */
static int sweep_all(struct sweep *sweep, struct err *err)
{
    int r;
    do
        r = sweep_top(sweep);
    while (r >= 0 && sweep->gone && sweep->steps);
    if (r < 0)
        return err_sys(err, -r, "reading a folder to be cleared");
    if (!sweep->steps)
        return 1;
    return sweep->stay ? refuse_rest(sweep, sweep->stay, err) : 0;
}

/* WHY in a folder of their own: each pass reads everything at the top, and there can be as many
 * passes as folders are nested. */
static int sweep_aside(struct sweep *sweep, int folder, const char *prefix, struct err *err)
{
    int code;
    DIR *dir = list(folder, ".", &code);
    sweep->top = dir ? beneath_open(folder, sweep->aside, FOLDER, 0) : code;
    if (sweep->top >= 0)
        empty(sweep, dir, prefix);
    if (dir)
        closedir(dir);
    if (sweep->top < 0)
        return err_sys(err, -sweep->top, "reading a folder to be cleared");
    uint32_t stay = sweep->stay;
    int r = sweep_all(sweep, err);
    close(sweep->top);
    return r == 0 && stay ? refuse_rest(sweep, stay, err) : r;
}

int beneath_clear(int folder, const char *prefix, uint64_t most, struct err *err)
{
    struct sweep sweep = {.top = folder, .prefix = prefix, .aside = "", .steps = most};
    char aside[NAME_MAX + 1];
    /* A full disk may have no space for it. */
    if (!*prefix || make_up(prefix, aside) < 0 || mkdirat(folder, aside, 0700) < 0)
        return sweep_all(&sweep, err);
    sweep.prefix = "";
    sweep.aside = aside;
    int r = sweep_aside(&sweep, folder, prefix, err);
    unlinkat(folder, aside, AT_REMOVEDIR);
    return r;
}

int beneath_remove(int folder, const char *name, uint64_t most, struct err *err)
{
    int r = drop(folder, name);
    if (r != -ENOTEMPTY)
        return r < 0 ? err_sys(err, -r, "removing %s", name) : 0;
    int fd = open_folder(folder, name);
    if (fd < 0)
        return err_sys(err, -fd, "opening the folder %s", name);
    fchmod(fd, 0700); /* others add nothing more, if it is ours */
    r = beneath_clear(fd, "", most, err);
    close(fd);
    if (r < 0)
        return err_prefix(err, "%s", name);
    if (r == 0 && (r = drop(folder, name)) < 0)
        err_sys(err, -r, "removing %s", name);
    return r;
}
