/* Removes a folder that a test made. */
#pragma once

#include "lib/beneath.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* By its whole path, with all that is in it. */
static inline int removal_of(const char *path)
{
    char above[128];
    const char *name = strrchr(path, '/') + 1;
    snprintf(above, sizeof(above), "%.*s", (int)(name - path), path);
    int fd = beneath_root(above, NULL);
    int r = fd < 0 ? fd : beneath_remove(fd, name, UINT64_MAX, NULL);
    close(fd);
    return r;
}
