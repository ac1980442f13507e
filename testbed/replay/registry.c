#include "testbed/replay/registry.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

bool registry_has(const char *directory, const struct registry_output *output)
{
    char name[PATH_MAX];
    struct stat st;
    int n = snprintf(name, sizeof(name), "%s/%" PRIu64 "-%u-%u-%" PRIu64, directory, output->job,
                     output->stage, output->task, output->attempt);
    return n < PATH_MAX && lstat(name, &st) == 0 && S_ISDIR(st.st_mode);
}
