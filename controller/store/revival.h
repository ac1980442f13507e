/* What a backup would revive, compared with the present store: stances, drains and policies that
 * were changed since, and jobs that have ended. Keys are not restored: all stay as in the present
 * store, so a revoked key stays revoked.
 *
 * Blocks for the disk. Errors are those of store_file_open and of reading. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>

struct revival_say {
    void (*line)(void *user, const char *words);
    void *user;
};

/* Reports it for the backup, one line each, at most REVIVAL_LINES of each kind. `keys`: copies the
 * keys of the present store into the backup. If the present store is missing or cannot be read, it
 * reports that: then the backup's keys are valid again. */
#define REVIVAL_LINES 20
int revival_look(const char *present, const char *backup, bool keys, const struct revival_say *say,
                 struct err *err);
