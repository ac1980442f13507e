#include "testbed/replay/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int link_path(const char *directory, const struct registry_output *output,
                     char ret_path[PATH_MAX])
{
    int n = snprintf(ret_path, PATH_MAX, "%s/%" PRIu64 "-%u-%u-%" PRIu64, directory, output->job,
                     output->stage, output->task, output->attempt);
    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int registry_add(const char *directory, const struct registry_output *output, const char *path,
                 struct err *err)
{
    char name[PATH_MAX];
    if (link_path(directory, output, name) < 0)
        return err_sys(err, ENAMETOOLONG, "%s", directory);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return err_sys(err, errno, "cannot make the output directory %s", path);
    if (symlink(path, name) < 0 && (errno != EEXIST || !registry_has(directory, output)))
        return err_sys(err, errno, "cannot register the output as %s", name);
    return 0;
}

bool registry_has(const char *directory, const struct registry_output *output)
{
    char name[PATH_MAX];
    struct stat st;
    if (link_path(directory, output, name) < 0)
        return false;
    if (stat(name, &st) == 0)
        return S_ISDIR(st.st_mode);
    if (errno == ENOENT)
        unlink(name);
    return false;
}
