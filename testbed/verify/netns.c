#include "testbed/verify/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int enter(int space, const char *name, struct err *err)
{
    return setns(space, CLONE_NEWNET) < 0
               ? err_sys(err, errno, "cannot enter the network namespace %s", name)
               : 0;
}

static int do_in(const char *name, const char *path,
                 int (*work)(const char *name, void *context, struct err *err), void *context,
                 struct err *err)
{
    int r, home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC),
           space = open(path, O_RDONLY | O_CLOEXEC);
    if (home < 0 || space < 0)
        r = err_sys(err, errno, "cannot open the network namespace %s", path);
    else
        r = enter(space, path, err);
    if (r == 0) {
        int done = work(name, context, err);
        r = enter(home, "of our own", done < 0 ? NULL : err);
        r = done < 0 ? done : r;
    }
    if (home >= 0)
        close(home);
    if (space >= 0)
        close(space);
    return r;
}

int netns_do(const char *where, int (*work)(const char *name, void *context, struct err *err),
             void *context, struct err *err)
{
    const char *at = strchr(where, '@');
    if (!at)
        return work(where, context, err);
    char *name = strndup(where, (size_t)(at - where));
    if (!name)
        return err_sys(err, ENOMEM, "cannot look at %s", where);
    int r = do_in(name, at + 1, work, context, err);
    free(name);
    return r;
}
