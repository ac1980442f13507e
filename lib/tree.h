/* Removing folders with all that is in them, without following symbolic links, at most 64 levels
 * deep. Blocking; what resists is left, and the first of it told. */
#pragma once

#include "lib/err.h"

/* A missing one is fine. */
int tree_remove(const char *path, struct err *err);

/* Of a folder's entries those whose names begin with `prefix`. */
int tree_clear(const char *folder, const char *prefix, struct err *err);
