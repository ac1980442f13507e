#include "hostagent/guests/process.h"

#include "lib/now.h"
#include "lib/number.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH 64 /* generations that process_descends goes up */

static int read_of(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    int r = files_read(path, text, size, NULL, NULL);
    return r == -ENOENT ? -ESRCH : r;
}

/* Its name, between parentheses, may contain anything. */
static int read_stat(pid_t pid, pid_t *ret_parent, uint64_t *ret_start)
{
    char text[1024], state;
    int parent;
    int r = read_of(pid, "stat", text, sizeof(text));
    const char *rest = r < 0 ? NULL : strrchr(text, ')');
    if (!rest)
        return r < 0 ? r : -ESRCH;
    if (sscanf(rest + 1,
               " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
               "%" SCNu64,
               &state, &parent, ret_start) != 3 ||
        state == 'Z' || state == 'X')
        return -ESRCH;
    *ret_parent = parent;
    return 0;
}

static int read_user(pid_t pid, uid_t *ret_user)
{
    char text[4096];
    int r = read_of(pid, "status", text, sizeof(text));
    const char *line = r < 0 ? NULL : strstr(text, "\nUid:\t");
    uint64_t user;
    if (!line || !number_take(line + strlen("\nUid:\t"), UINT32_MAX, &user))
        return r < 0 ? r : -ESRCH;
    *ret_user = (uid_t)user;
    return 0;
}

/* The line of the hierarchy without a number of its own. */
static int read_cgroup(pid_t pid, char ret_path[FILES_PATH])
{
    char text[8192];
    int r = read_of(pid, "cgroup", text, sizeof(text));
    if (r < 0)
        return r;
    const char *line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (!line)
        return -ESRCH;
    line = strchr(line, ':') + 2;
    size_t n = strcspn(line, "\n");
    if (n >= FILES_PATH)
        return -ENAMETOOLONG;
    memcpy(ret_path, line, n);
    ret_path[n] = 0;
    return 0;
}

/* A process that we may not inspect counts as being in our network: marks do not reach others
 * anyway. */
static int read_network(pid_t pid, struct process *process)
{
    char path[64];
    struct stat ours, its;
    snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
    if (stat("/proc/self/ns/net", &ours) < 0 || stat(path, &its) < 0)
        return errno == ENOENT ? -ESRCH : (process->closed = errno == EACCES) ? 0 : -errno;
    process->elsewhere = ours.st_ino != its.st_ino || ours.st_dev != its.st_dev;
    return 0;
}

int process_look(pid_t pid, struct process *ret_process)
{
    struct process process = {.pid = pid};
    int r = read_stat(pid, &process.parent, &process.start);
    if (r >= 0)
        r = read_user(pid, &process.user);
    if (r >= 0)
        r = read_cgroup(pid, process.cgroup);
    if (r >= 0)
        r = read_network(pid, &process);
    if (r >= 0)
        *ret_process = process;
    return r;
}

/* The first one is root's, and everybody may look at it where nothing is hidden. */
int process_others_seen(struct err *err)
{
    int fd = open("/proc/1/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(
            err, errno,
            "executors of other users are not found: /proc hides them from this agent "
            "(hidepid= of its mount, or ProtectProc= in the unit: docs/operate/rights.md)");
    close(fd);
    return 0;
}

uint64_t process_start(pid_t pid)
{
    pid_t parent;
    uint64_t start;
    return read_stat(pid, &parent, &start) < 0 ? 0 : start;
}

bool process_descends(pid_t pid, pid_t above)
{
    uint64_t start;
    for (int i = 0; i < DEPTH && pid > 1 && pid != above; i++)
        if (read_stat(pid, &pid, &start) < 0)
            return false;
    return pid == above;
}

double process_age_s(const struct process *process)
{
    return (double)now_ns(CLOCK_BOOTTIME) / 1e9 -
           (double)process->start / (double)sysconf(_SC_CLK_TCK);
}

ssize_t process_line(pid_t pid, char *line, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    size_t used = 0;
    ssize_t n;
    while (used < size && (n = read(fd, line + used, size - used)) > 0)
        used += (size_t)n;
    close(fd);
    return (ssize_t)used;
}

int process_each(void (*each)(void *user, pid_t pid), void *user)
{
    DIR *dir = opendir("/proc");
    uint64_t pid;
    if (!dir)
        return -errno;
    struct dirent *entry;
    for (int n = 0; n < PROCESSES_MOST && (entry = readdir(dir));)
        if (number_read(entry->d_name, 1, INT32_MAX, &pid) == 0) {
            each(user, (pid_t)pid);
            n++;
        }
    closedir(dir);
    return 0;
}
