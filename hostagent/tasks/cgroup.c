#include "hostagent/tasks/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cgroup_find_root(char ret_path[FILES_PATH], struct err *err)
{
    FILE *mounts = setmntent("/proc/mounts", "re");
    if (!mounts)
        return err_sys(err, errno, "reading /proc/mounts");
    int r = -ENOENT;
    for (struct mntent *entry; r < 0 && (entry = getmntent(mounts));)
        if (strcmp(entry->mnt_type, "cgroup2") == 0) {
            files_path(ret_path, "%s", entry->mnt_dir);
            r = 0;
        }
    endmntent(mounts);
    return r < 0 ? err_set(err, ENOENT,
                           "no cgroup v2 is mounted (mount -t cgroup2 none /sys/fs/cgroup)")
                 : 0;
}

static void path_of(const char *subtree, uint64_t attempt, const char *below, char path[FILES_PATH])
{
    files_path(path, "%s/%016" PRIx64 "%s", subtree, attempt, below);
}

static int make_one(const char *path, int *ret_fd, struct err *err)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return err_sys(err, errno, "making the cgroup %s", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "opening the cgroup %s", path);
    *ret_fd = fd;
    return 0;
}

int cgroup_make(const char *subtree, uint64_t attempt, int *ret_parent_fd, int *ret_task_fd,
                uint64_t *ret_id, struct err *err)
{
    char path[FILES_PATH];
    int parent = -1, task = -1;
    struct stat st;
    path_of(subtree, attempt, "", path);
    int r = make_one(path, &parent, err);
    if (r < 0)
        return r;
    path_of(subtree, attempt, "/task", path);
    r = make_one(path, &task, err);
    if (r >= 0 && fstat(task, &st) < 0)
        r = err_sys(err, errno, "the id of the cgroup %s", path);
    if (r < 0) {
        close(parent);
        if (task >= 0)
            close(task);
        cgroup_remove(subtree, attempt);
        return r;
    }
    *ret_parent_fd = parent;
    *ret_task_fd = task;
    *ret_id = st.st_ino;
    return 0;
}

uint64_t cgroup_subtree_id(const char *subtree)
{
    struct stat st;
    return stat(subtree, &st) == 0 ? st.st_ino : 0;
}

uint64_t cgroup_id(const char *subtree, uint64_t attempt)
{
    char path[FILES_PATH];
    path_of(subtree, attempt, "/task", path);
    return cgroup_subtree_id(path);
}

bool cgroup_has_parent(const char *subtree, uint64_t attempt)
{
    char path[FILES_PATH], text[16];
    path_of(subtree, attempt, "/cgroup.procs", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool found = read(fd, text, sizeof(text)) > 0;
    close(fd);
    return found;
}

void cgroup_kill(const char *subtree, uint64_t attempt)
{
    char path[FILES_PATH];
    path_of(subtree, attempt, "/cgroup.kill", path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "1", 1) != 1)
        errno = 0; /* gone meanwhile */
    close(fd);
}

bool cgroup_remove(const char *subtree, uint64_t attempt)
{
    char path[FILES_PATH];
    path_of(subtree, attempt, "/task", path);
    if (rmdir(path) < 0 && errno != ENOENT)
        return false;
    path_of(subtree, attempt, "", path);
    return rmdir(path) == 0 || errno == ENOENT;
}

int cgroup_list(const char *subtree, void (*each)(void *user, uint64_t attempt), void *user,
                struct err *err)
{
    int r = files_each_attempt(subtree, each, user, err);
    return r == -ENOENT ? 0 : r;
}
