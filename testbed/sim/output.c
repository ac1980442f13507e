#include "testbed/sim/output.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Not for a terminal or a pipe: they cannot be replaced. */
static bool is_place(const char *path)
{
    struct stat status;
    return stat(path, &status) || S_ISREG(status.st_mode);
}

int output_open(struct output *o, const char *path, struct err *err)
{
    *o = (struct output){.path = path};
    if (!is_place(path))
        snprintf(o->part, sizeof(o->part), "%s", path);
    else if ((size_t)snprintf(o->part, sizeof(o->part), "%s.part", path) >= sizeof(o->part))
        return err_set(err, ENAMETOOLONG, "the name of %s is too long", path);
    o->file = fopen(o->part, "w");
    return o->file ? 0 : err_sys(err, errno, "cannot write %s", path);
}

int output_try(const char *path, struct err *err)
{
    struct output output;
    int r = path ? output_open(&output, path, err) : 0;
    if (path && !r)
        output_abandon(&output);
    return r;
}

int output_close(struct output *o, struct err *err)
{
    FILE *file = o->file;
    int failed = ferror(file);
    bool moved = strcmp(o->part, o->path) != 0;
    o->file = NULL;
    failed = fclose(file) || failed;
    if (!failed && (!moved || !rename(o->part, o->path)))
        return 0;
    int r = err_sys(err, errno ? errno : EIO, "cannot write %s", o->path);
    if (moved)
        unlink(o->part);
    return r;
}

void output_abandon(struct output *o)
{
    if (!o->file)
        return;
    fclose(o->file);
    o->file = NULL;
    if (strcmp(o->part, o->path) != 0)
        unlink(o->part);
}
