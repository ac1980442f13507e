/* Removes a folder below /tmp that a test made. */
#pragma once

#include "lib/beneath.h"

#include <string.h>
#include <unistd.h>

/* With all that is in it. */
static inline int removal_of(const char *path)
{
    int above = beneath_root("/tmp", NULL);
    int r = above < 0 ? above : beneath_remove(above, path + strlen("/tmp/"), UINT64_MAX, NULL);
    close(above);
    return r;
}
