/* Files and folders below a folder that other users may write.
 *
 * Anybody who may write a folder may change it while we walk through it: replace an entry by a
 * symbolic link, or move a folder elsewhere. So nothing below such a folder is named by a path. One
 * descriptor stands for the folder, everything else is named relative to it, and no name leads
 * through a link, to another file system, or upwards (openat2, Linux 5.6: RESOLVE_BENEATH,
 * RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV). What is written in a folder is removed from that folder
 * alone, wherever its owner moves it meanwhile. Where openat2 is forbidden (by systemd's
 * RestrictSUIDSGID=), openat and statx do the same for single names; this project uses no others.
 *
 * Removing needs two descriptors and no memory, however deep the folders are: a folder that is not
 * empty moves to the top under a name that nobody can guess and is emptied there. Progress is on
 * the disk, so the next call continues a removal that was interrupted. A process confined by
 * landlock cannot do this: landlock refuses all moves between folders.
 *
 * Blocking. No state. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens the folder itself. Nobody but us may be able to write any part of the path. The caller owns
 * the descriptor. −errno. */
int beneath_root(const char *path, struct err *err);

/* As open, below `folder`, close-on-exec. −ELOOP (for a folder also −ENOTDIR): a link. −EXDEV: the
 * name leads out of the folder or to another file system. −ENOSYS: more than one name, without
 * openat2. Else −errno. */
int beneath_open(int folder, const char *name, int flags, mode_t mode);

/* Whether the name is a folder now: not a link to one, and not a mount. */
bool beneath_is_folder(int folder, const char *name);

/* Moves an entry aside at once: a folder gets another name in `folder`, which begins with `prefix`
 * (at most BENEATH_PREFIX bytes) and cannot be guessed; anything else is removed. Returns 1: it was
 * a folder; 0: it is gone or was never there; −errno. */
#define BENEATH_PREFIX 64
int beneath_put_aside(int folder, const char *name, const char *prefix);

/* Removes the entries of `folder` whose names begin with `prefix` ("": all) and everything below
 * them, one entry a step, in at most `most` steps. Missing rights on our own folders are set.
 * Returns 0: they are gone; 1: the steps are used up, and there is more; −errno: `err` says how
 * many stay and why the first of them does; the rest is gone. */
int beneath_clear(int folder, const char *prefix, uint64_t most, struct err *err);

/* The same for one entry. If it is a folder of ours, others lose access to it first. A missing
 * entry counts as gone. */
int beneath_remove(int folder, const char *name, uint64_t most, struct err *err);
