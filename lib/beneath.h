/* Files and folders below a folder that others may write.
 *
 * Whoever may write a folder may swap what stands in it while we walk: a folder for a symbolic link,
 * a folder for one that he moved elsewhere. So nothing below such a folder is named by a path. One
 * descriptor stands for the folder, everything else goes by names relative to it, and no way leads
 * through a link, onto another file system, or up (openat2, Linux 5.6: RESOLVE_BENEATH,
 * RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV). What is written *in* a folder is removed from that folder
 * alone, wherever its owner moves it meanwhile. Where openat2 is kept from us (systemd's
 * RestrictSUIDSGID= does so), the same is made of openat and statx, for single names, which all are
 * that are used here.
 *
 * Removing needs two descriptors and no memory, however deep the folders are: a folder that is not
 * empty moves up, under a name that nobody can guess, and is emptied there. So what
 * was done is on the disk, and a removal that was cut short goes on with the next. A process whose
 * files are fenced in by landlock cannot do so: it refuses all moves between folders.
 *
 * Blocking. No state. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The folder itself, by a path of which nobody but us may write a part. The descriptor is the
 * caller's. −errno. */
int beneath_root(const char *path, struct err *err);

/* As open, below `folder`; close-on-exec. −ELOOP (of a folder also −ENOTDIR) at a link, −EXDEV where
 * the way leads out or onto another file system, else −errno. −ENOSYS: more than one name, and there
 * is no openat2. */
int beneath_open(int folder, const char *name, int flags, mode_t mode);

/* Whether a folder stands there now: no link to one, nothing that is mounted there. */
bool beneath_is_folder(int folder, const char *name);

/* Takes an entry out of the way at once: a folder gets another name in `folder`, which begins with
 * `prefix` (at most BENEATH_PREFIX bytes) and cannot be guessed; anything else is removed. 1: it was
 * a folder. 0: it is gone, or was never there. −errno. */
#define BENEATH_PREFIX 64
int beneath_put_aside(int folder, const char *name, const char *prefix);

/* Removes the entries of `folder` whose names begin with `prefix` ("": all), with all below them, in
 * at most `most` steps, each one entry. Of our own folders rights that lack are set. 0: they are
 * gone. 1: the steps are used up, and there is more. −errno: the rest is gone, and `err` says how
 * many stay, and why the first of them does. */
int beneath_clear(int folder, const char *prefix, uint64_t most, struct err *err);

/* The same for one entry, and where that is a folder of ours, others are shut out of it first; a
 * missing one is gone. */
int beneath_remove(int folder, const char *name, uint64_t most, struct err *err);
