/* A folder of the test program's own, with files in it: group set-up and tear-down of cmocka. */
#pragma once

#include "tests/unit/test.h"

#include <string.h>

static char folder[64];

static inline int folder_make(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/duopoly-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int folder_remove(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

/* Until the next call. */
static inline const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}
