#include "hostagent/guests/guest_cgroup.h"

#include "lib/invariant.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MEMBERS_MOST 4096 /* processes of a cgroup that are looked at */
#define LEAVE_TRIES  50   /* each 10 ms: for processes that are started while others go back */

static void file_path(const char *state_dir, char path[FILES_PATH])
{
    files_path(path, GUEST_CGROUPS_FILE, state_dir);
}

/* Any other line is skipped: the file is written only by us. */
static void line_read(const char *line, struct guest_cgroups *cgroups)
{
    struct guest_cgroup cgroup = {0};
    char word[5];
    int at = 0;
    if (cgroups->n == GUEST_CGROUPS ||
        sscanf(line, "%4s %" SCNu64 " %n", word, &cgroup.id, &at) != 2 || line[at] != '/')
        return;
    cgroup.made = strcmp(word, "made") == 0;
    files_path(cgroup.path, "%s", line + at);
    cgroups->all[cgroups->n++] = cgroup;
}

int guest_cgroups_read(const char *state_dir, struct guest_cgroups *ret_cgroups, struct err *err)
{
    char path[FILES_PATH], *text = NULL, *rest, *line;
    ret_cgroups->state_dir = state_dir;
    ret_cgroups->n = 0;
    file_path(state_dir, path);
    int r = files_read_whole(path, sizeof(ret_cgroups->all), &text, err);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    rest = text;
    while ((line = strsep(&rest, "\n")))
        line_read(line, ret_cgroups);
    free(text);
    return 0;
}

static int write_all(const struct guest_cgroups *cgroups, struct err *err)
{
    char path[FILES_PATH], *text = NULL;
    size_t n = 0;
    file_path(cgroups->state_dir, path);
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return err_sys(err, ENOMEM, "%s", path);
    for (uint32_t i = 0; i < cgroups->n; i++)
        fprintf(out, "%s %" PRIu64 " %s\n", cgroups->all[i].made ? "made" : "kept",
                cgroups->all[i].id, cgroups->all[i].path);
    int r =
        fclose(out) == 0 ? files_write(path, text, n, 0600, err) : err_sys(err, ENOMEM, "%s", path);
    free(text);
    return r;
}

/* Calls `each` for those in it, until that returns < 0, which this returns. −E2BIG: too many. */
static int each_member(const char *cgroup, int (*each)(pid_t pid, void *user), void *user)
{
    char path[FILES_PATH];
    int pid, r = 0;
    files_path(path, "%s/cgroup.procs", cgroup);
    FILE *members = fopen(path, "re");
    if (!members)
        return -errno;
    for (int n = 0; r >= 0 && fscanf(members, "%d", &pid) == 1; n++)
        r = n < MEMBERS_MOST ? each(pid, user) : -E2BIG;
    fclose(members);
    return r;
}

static int is_of(pid_t pid, void *user)
{
    const pid_t *guest = user;
    return process_descends(pid, *guest) || !process_start(pid) ? 0 : -EBUSY;
}

bool guest_cgroup_is_own(const char *root, const char *path, pid_t pid)
{
    return strcmp(root, path) != 0 && each_member(path, is_of, &pid) >= 0;
}

static struct guest_cgroup *cgroup_find(const struct guest_cgroups *cgroups, const char *path)
{
    for (uint32_t i = 0; i < cgroups->n; i++)
        if (strcmp(cgroups->all[i].path, path) == 0)
            return (struct guest_cgroup *)(uintptr_t)&cgroups->all[i];
    return NULL;
}

bool guest_cgroup_is_used(const struct guest_cgroups *cgroups, const char *path)
{
    return cgroup_find(cgroups, path) != NULL;
}

bool guest_cgroup_is_made(const struct guest_cgroups *cgroups, const char *path)
{
    const struct guest_cgroup *cgroup = cgroup_find(cgroups, path);
    return cgroup && cgroup->made;
}

bool guest_cgroup_was_shared(const struct guest_cgroups *cgroups, const char *path)
{
    size_t n = strlen(path);
    for (uint32_t i = 0; i < cgroups->n; i++)
        if (cgroups->all[i].made && strncmp(cgroups->all[i].path, path, n) == 0 &&
            cgroups->all[i].path[n] == '/')
            return true;
    return false;
}

/* From here on it is not moved back any more. */
static int strike(struct guest_cgroups *cgroups, const char *path, struct err *err)
{
    struct guest_cgroup *cgroup = cgroup_find(cgroups, path);
    if (!cgroup)
        return 0;
    assert(cgroups->n > 0 && cgroups->n <= GUEST_CGROUPS);
    *cgroup = cgroups->all[--cgroups->n];
    return write_all(cgroups, err);
}

static int note(struct guest_cgroups *cgroups, const char *path, bool made, struct err *err)
{
    if (cgroups->n == GUEST_CGROUPS)
        return err_set(err, E2BIG, "%d cgroups of guests are in use already", GUEST_CGROUPS);
    struct guest_cgroup *cgroup = &cgroups->all[cgroups->n++];
    *cgroup = (struct guest_cgroup){.made = made, .id = guest_cgroup_id(path)};
    files_path(cgroup->path, "%s", path);
    int r = write_all(cgroups, err);
    cgroups->n -= r < 0;
    return r;
}

int guest_cgroup_keep(struct guest_cgroups *cgroups, const char *path, struct err *err)
{
    return cgroup_find(cgroups, path) ? 0 : note(cgroups, path, false, err);
}

static int put(const char *cgroup, pid_t pid)
{
    char path[FILES_PATH], text[16];
    files_path(path, "%s/cgroup.procs", cgroup);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int n = snprintf(text, sizeof(text), "%d", (int)pid);
    int r = write(fd, text, (size_t)n) == n ? 0 : -errno;
    close(fd);
    return r == -ESRCH ? 0 : r; /* it has ended meanwhile */
}

struct moving {
    pid_t guest;
    const char *to;
};

static int move_started(pid_t pid, void *user)
{
    const struct moving *moving = user;
    return pid != moving->guest && process_descends(pid, moving->guest) ? put(moving->to, pid) : 0;
}

/* The guest first: what it starts after that is in the new cgroup already. */
static int move(const char *shared, const struct process *process, const char *to)
{
    struct moving moving = {.guest = process->pid, .to = to};
    int r = put(to, process->pid);
    return r < 0 ? r : each_member(shared, move_started, &moving);
}

int guest_cgroup_make(struct guest_cgroups *cgroups, const char *shared,
                      const struct process *process, char ret_path[FILES_PATH], struct err *err)
{
    char path[FILES_PATH];
    int n = snprintf(path, sizeof(path), "%s/duopoly-guest-%d-%" PRIu64, shared, (int)process->pid,
                     process->start);
    if (n < 0 || (size_t)n >= sizeof(path))
        return err_set(err, ENAMETOOLONG, "the cgroup %s has too long a path", shared);
    int r = note(cgroups, path, true, err);
    if (r < 0)
        return r;
    r = mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : move(shared, process, path);
    if (r < 0) {
        err_sys(err, -r, "moving process %d into a cgroup of its own, %s", (int)process->pid, path);
        guest_cgroup_leave(cgroups, path, NULL);
        return r;
    }
    cgroup_find(cgroups, path)->id = guest_cgroup_id(path);
    write_all(cgroups, NULL); /* without its number its levels stay behind it: no harm */
    memcpy(ret_path, path, sizeof(path));
    return 0;
}

static int put_back(pid_t pid, void *user)
{
    return put(user, pid);
}

static int leave(const char *path, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    char shared[FILES_PATH];
    files_path(shared, "%s", path);
    char *name = strrchr(shared, '/');
    if (!name || strncmp(name, "/duopoly-guest-", strlen("/duopoly-guest-")) != 0)
        return err_set(err, EINVAL, "\"%.200s\" is no cgroup that was made for a guest", path);
    *name = 0;
    int r = 0;
    for (int i = 0; i < LEAVE_TRIES; i++) {
        r = each_member(path, put_back, shared);
        if (r >= 0 && rmdir(path) < 0)
            r = -errno;
        if (r >= 0 || r == -ENOENT)
            return 0;
        if (r != -EBUSY)
            break;
        nanosleep(&pause, NULL);
    }
    return err_sys(err, -r, "leaving the cgroup %s", path);
}

int guest_cgroup_leave(struct guest_cgroups *cgroups, const char *path, struct err *err)
{
    int r = guest_cgroup_is_made(cgroups, path) ? leave(path, err) : 0;
    return r < 0 ? r : strike(cgroups, path, err);
}

int guest_cgroups_leave(const char *state_dir, struct err *err)
{
    static struct guest_cgroups cgroups;
    char path[FILES_PATH];
    int r = guest_cgroups_read(state_dir, &cgroups, err);
    for (uint32_t i = 0; i < cgroups.n; i++) {
        int other = cgroups.all[i].made ? leave(cgroups.all[i].path, r < 0 ? NULL : err) : 0;
        r = r < 0 ? r : other;
    }
    file_path(state_dir, path);
    if (r >= 0 && unlink(path) < 0 && errno != ENOENT)
        r = err_sys(err, errno, "%s", path);
    return r;
}

uint64_t guest_cgroup_id(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_ino : 0;
}
