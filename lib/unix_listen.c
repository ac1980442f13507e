#include "lib/unix_listen.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Removes the socket of a dead listener; −EADDRINUSE if it is alive, or not a socket. */
static int leftover_remove(const struct sockaddr_un *address, int type, struct err *err)
{
    struct stat status;
    if (lstat(address->sun_path, &status) < 0)
        return 0;
    if (!S_ISSOCK(status.st_mode))
        return err_set(err, EADDRINUSE, "%s exists and is not a socket", address->sun_path);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(err, errno, "no socket");
    int r = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    int code = errno;
    close(fd);
    if (r == 0 || code != ECONNREFUSED)
        return err_set(err, EADDRINUSE, "another program listens on %s", address->sun_path);
    if (unlink(address->sun_path) < 0)
        return err_sys(err, errno, "%s cannot be removed", address->sun_path);
    return 0;
}

/* Does nothing if it is so already: a service manager may forbid changes of owners. WHY by a
 * descriptor: a process that may write the folder may replace our file by a link. */
static int group_give(const char *path, gid_t group)
{
    struct stat st;
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int r =
        fd < 0 || fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid() ? -1 : 0;
    if (r == 0 && group != (gid_t)-1 && st.st_gid != group)
        r = fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH);
    if (fd >= 0)
        close(fd);
    return r;
}

int unix_listen(const char *path, int type, gid_t group, mode_t mode, int *ret_fd, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return err_set(err, ENAMETOOLONG, "%s: a socket's path has at most %zu bytes", path,
                       sizeof(address.sun_path) - 1);
    strcpy(address.sun_path, path);
    int r = leftover_remove(&address, type, err);
    if (r < 0)
        return r;
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(err, errno, "no socket");
    mode_t mask = umask(0777 & ~mode); /* none can connect before it listens */
    r = bind(fd, (const struct sockaddr *)&address, sizeof(address));
    int code = errno;
    umask(mask);
    if (r < 0) {
        close(fd);
        return err_sys(err, code, "cannot listen on %s", path);
    }
    const bool given = group_give(path, group) == 0;
    if (!given || listen(fd, 64) < 0) {
        code = errno;
        close(fd);
        unlink(path);
        return given ? err_sys(err, code, "cannot listen on %s", path)
                     : err_sys(err, code,
                               "%s cannot be given to the group with the number %u: is this "
                               "program's user in it?",
                               path, group);
    }
    *ret_fd = fd;
    return 0;
}

gid_t unix_group(const char *name)
{
    const struct group *entry = getgrnam(name);
    return entry ? entry->gr_gid : (gid_t)-1;
}
