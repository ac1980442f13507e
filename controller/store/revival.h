/* What a backup would revive beside the store that stands in the state folder: stances, drains and policies
 * that were set otherwise since, and jobs that have ended. Keys go no way back: all of them stay as the
 * present store has them, so what was revoked stays revoked.
 *
 * Blocks for the disk. Errors are those of store_file_open and reading. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>

struct revival_say {
    void (*line)(void *user, const char *words);
    void *user;
};

/* Says it of the store at `backup`, in a line each, REVIVAL_LINES of each kind at most. `keys`: puts the
 * keys of the store at `present` into it. A present store that is not there, or cannot be read, is
 * said: then the backup's keys are valid again. */
#define REVIVAL_LINES 20
int revival_look(const char *present, const char *backup, bool keys, const struct revival_say *say,
                 struct err *err);
